/** The operator's account has no credit, or has reached its spending limit, which no waiting changes. */
const NO_CREDIT: readonly RegExp[] = [
  /insufficient[_ -]?(?:quota|balance|credits?|funds|account)|not enough (?:balance|credits?|funds|quota)/,
  /billing[_ ](?:hard[_ ]limit|limit|not[_ ]active|required|disabled)|billing (?:account|issue|to be enabled)|billing is not/,
  /(?:credit|account) balance (?:is |of )?(?:too low|insufficient|exhausted|0\b)|balance is (?:too low|insufficient|not enough)/,
  /\b(?:no|out of|run out of|ran out of|used all|requires? more|purchase|exhausted (?:all )?(?:your |its )?)[^.\n]{0,20}\bcredits?\b/,
  /\bcredits?\b[^.\n]{0,40}(?:exhausted|used up|depleted|expired|required|insufficient|exceeded|too low)|monthly included credits/,
  /budget[_ ]?(?:has been )?exceeded|exceeded[_ ]?budget|crossed budget|over budget/,
  /payment[_ ](?:required|method required|failed)|unpaid|past[- ]due|arrearage|overdue[- ]?payment|good standing/,
  /account (?:is |has been |was )?(?:suspended|deactivated|in arrears)|exceeded_current_quota|account_deactivated/,
  /free (?:tier|allocation|quota|credits?)[^.\n]{0,40}(?:exhausted|used up|exceeded|expired)|used up your daily/,
  /余额不足|欠费|账户余额|额度不足|请充值/,
];

/** Also of limits that end by themselves: Gemini uses the word for each limit per minute. */
const QUOTA: readonly RegExp[] = [
  /(?:spend(?:ing)?|cost|usage|monthly|budget)[_ ]limit[^.\n]{0,40}(?:reached|exceeded|exhausted|hit)/,
  /(?:reached|exceeded|hit|over)[^.\n]{0,50}(?:spend(?:ing)?|monthly|usage|billing|credit|budget)[_ ](?:limits?|cap|quota)/,
  /(?:specified|api|key|monthly) (?:api )?usage limits?|key limit exceeded|blocked[-_:]spending/,
  /exceeded your current quota|quota (?:has been )?(?:exceeded|exhausted)/,
];
const COMES_BACK =
  /resets? (?:in|at|on)|retry(?:[_ -]?(?:in|after|delay)|ing in)|try again (?:in|after)|per[_ ]?(?:minute|min|second|hour|day)\b|perminute|perday/;

const PAYMENT_REQUIRED = 402;

/**
 * Returns true if a model provider refused a call because its account has no credit.
 *
 * @param words the response's words, in lower case
 * @param retries whether the response names a time after which the call can be repeated
 */
export function isOutOfCredit(status: number | undefined, words: string, retries = false): boolean {
  if (status === PAYMENT_REQUIRED) return true;
  if (NO_CREDIT.some((pattern) => pattern.test(words))) return true;
  return !retries && !COMES_BACK.test(words) && QUOTA.some((pattern) => pattern.test(words));
}
