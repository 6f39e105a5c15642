/** Words that hide the actor, the time or the meaning: neither comments nor messages have them. */
export const oldWords: RegExp =
  /\b(?:whoever|whomever|whom|lest|unless told|be it an?|but for|of (?:its|his|their) own|(?:is|are) told|vouch(?:es|ed)?|those who|(?:lets?|letting) go|gives? free|stands? aside|as of the call|who listens|(?:for|to|of|by|from|with|at|than|so that) who|(?<=[.:;] )who|(?:that|what|it) (?:is|are) none(?! of)|he|his|him)\b/i
