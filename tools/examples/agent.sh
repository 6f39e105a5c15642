#!/bin/sh
# An agent in shell: it stores messages in a directory, a file for each recipient.
#
#   agent.sh DIRECTORY
#
# src/relay/agents/PROTOCOL.md has the protocol. `read` takes no octet behind its line, so `head`
# finds the message where it begins. The name of a file has the number of this process: another
# agent counts recipients from 1 too.
directory=${1:?a directory is wanted}
tags=''
size=0
newline='
'
while IFS=' ' read -r name value; do
  case $name in
    waybill)
      tags=''
      size=0
      ;;
    message) id=$value ;;
    size) size=$value ;;
    to) tags="$tags ${value%% *}" ;;
    '')
      report=''
      if head -c "$size" >"$directory/.$id.$$" && sync "$directory/.$id.$$"; then
        for tag in $tags; do
          if ln "$directory/.$id.$$" "$directory/$id.$$.$tag"; then
            report="$report$tag delivered 2.0.0 stored as $id.$$.$tag$newline"
          else
            report="$report$tag deferred 4.3.0 cannot be stored$newline"
          fi
        done
        rm -f "$directory/.$id.$$"
        # Nothing is reported before a crash of the machine can no longer undo it.
        sync "$directory" || exit 1
      else
        rm -f "$directory/.$id.$$"
        for tag in $tags; do report="$report$tag deferred 4.3.1 there is no room$newline"; done
      fi
      printf '%s' "$report"
      ;;
  esac
done
