#!/bin/sh
# An agent in shell: it stores messages in a directory, a file for each recipient.
#
#   agent.sh DIRECTORY
#
# src/relay/agents/PROTOCOL.md has the protocol. `read` takes no octet behind its line, so `head`
# finds the message where it begins.
directory=${1:?a directory is wanted}
tags=''
size=0
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
      if head -c "$size" >"$directory/.$id.$$"; then
        for tag in $tags; do
          if ln "$directory/.$id.$$" "$directory/$id.$tag"; then
            echo "$tag delivered 2.0.0 stored as $id.$tag"
          else
            echo "$tag deferred 4.3.0 cannot be stored"
          fi
        done
      else
        for tag in $tags; do echo "$tag deferred 4.3.1 there is no room"; done
      fi
      rm -f "$directory/.$id.$$"
      ;;
  esac
done
