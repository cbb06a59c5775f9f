/**
 * Classifies a finish reason. `complete`: the text is whole. `calls`: tool calls follow it. `cut`: a limit
 * ended it. `failed`: the server could not go on, and another attempt can succeed. `refused`: a filter or the model declined.
 */
export type FinishKind = 'complete' | 'calls' | 'cut' | 'failed' | 'refused';

/** Every known reason, in lower case and without separators. A reason that is missing here never counts as complete. */
const REASONS: Readonly<Record<FinishKind, string>> = {
  complete: `
    stop stopped end ended endid endturn stopsequence stopsequences stopword stopwords stopstr stopstring stopid matchedstop stoptoken stopstringfound
    eos eosfound eostoken eostokenid eot endoftext endofturn endofsequence endofmessage
    complete completed done finish finished finishreasonstop normal natural success succeeded pauseturn`,
  calls: `
    toolcalls toolcall tooluse tool functioncall functioncalls finishreasontoolcall`,
  cut: `
    length maxtokens maxtoken maxlength maxlen maxoutputtokens maxcompletiontokens maxnewtokens maximumtokens maximumlength
    maxtokensreached maxpredictedtokensreached finishreasonmaxtokens finishreasonlength tokenlimit tokenlimitreached
    outputlimit outputlimitreached limit truncated incomplete notfinished contextlength contextlengthreached
    contextlengthexceeded contextwindowexceeded modellength modelcontextwindowexceeded errorlimit
    timelimit timeout repetition`,
  failed: `
    error errors failed failure servererror internalerror internalservererror upstreamerror modelerror networkerror
    finishreasonerror insufficientsystemresource overloaded unavailable serviceunavailable modelunloaded unload
    abort aborted cancel canceled cancelled usercancel userstopped interrupted load
    malformedfunctioncall malformedtoolcall malformedtooluse malformedmodeloutput malformedresponse
    missingthoughtsignature invalidtoolcall unexpectedtoolcall toomanytoolcalls finishreasonunspecified unspecified`,
  refused: `
    contentfilter contentfiltered contentpolicy contentpolicyviolation filter filtered filteredcontent guardrail guardrails
    guardrailintervened refusal refused safety finishreasonsafety recitation finishreasonrecitation language blocklist
    blocked prohibited prohibitedcontent spii modelarmor moderation moderated flagged sensitive errortoxic toxic
    imagesafety imageprohibitedcontent imagerecitation policyviolation`,
};

const KINDS: ReadonlyMap<string, FinishKind> = new Map(
  Object.entries(REASONS).flatMap(([kind, names]) =>
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, kind as FinishKind] as const),
  ),
);

/** Words in unlisted reasons: nothing is complete because of a word. */
const WORDS: readonly (readonly [FinishKind, RegExp])[] = [
  [
    'refused',
    /filter|safety|unsafe|moderat|guardrail|policy|prohibit|blocked|sensitive|violat|toxic|harm|censor|jailbreak|inspection|recitation|risk|refus|denied|reject|restrict|security|nsfw|^pii$/,
  ],
  [
    'failed',
    /ratelimit|gateway|error|fail|exception|crash|abort|cancel|disconnect|overload|unavailable|preempt|kill|evict|shutdown|memory|malformed|invalid|interrupt|internal|^oom$/,
  ],
  ['cut', /length|token|limit|max|context|truncat|timeout|timedout|deadline|budget/],
];

/** Servers send these while the response goes on. */
const ABSENT = new Set(['', 'null', 'none', 'undefined', 'nil']);

/** Spelling in the table: without case and separators. */
const plain = (reason: string): string => reason.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

/** Returns true if the field contains a finish reason. */
export const isFinishReason = (value: unknown): value is string =>
  typeof value === 'string' && !ABSENT.has(value.trim().toLowerCase());

/** A finish reason's kind, in any spelling; undefined if it is unknown. */
export const finishKind = (reason: string): FinishKind | undefined => {
  const name = plain(reason);
  return KINDS.get(name) ?? WORDS.find(([, words]) => words.test(name))?.[0];
};
