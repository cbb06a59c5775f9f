// Recognizes text that models write for their own use: thought tags, special tokens, and tool calls.

/** Thought tag names. */
const THOUGHT = String.raw`(?:ant|longcat_|inner_|internal_)?(?:think|thinking|thoughts?|reasoning|reflection|monologue)(?:_process|_content)?|chain_of_thought|scratch_?pad|cot_budget_reflect|tool_(?:response|results?|output)|function_results?`;
const BAR = '[|｜‖]{1,2}';
/** A namespace, as in `seed:think`. */
const PREFIX = String.raw`(?:[a-z]+:)?`;
const ATTRIBUTES = String.raw`(?:\s[^<>\n]{0,200})?`;
const TOKEN_NAME = String.raw`[^\s|｜‖<>]{1,48}`;

const at = (source: string, flags = 'iuy'): RegExp => new RegExp(source, flags);

const THOUGHT_OPEN = [
  at(`<${PREFIX}(?:${THOUGHT})${ATTRIBUTES}>`),
  at(`<${BAR}(?:start_of_|start_|begin_of_|begin_)?(?:${THOUGHT})(?:_start|_begin)?${BAR}>`),
  at(String.raw`\[(?:THINK|THINKING|REASONING|THOUGHT)\]`, 'uy'),
  at(`◁(?:${THOUGHT})▷`),
  at(String.raw`<\|inner_prefix\|>`),
  at(String.raw`<\|tool_response>`),
  at(String.raw`<unused94>(?:thought\n)?`),
  at(String.raw`<\|channel>(?!final)\w*\n?`),
];
/** Thoughts as Open WebUI shows them. */
const DETAILS = at('<details type="reasoning"[^<>]{0,200}>');
const THOUGHT_CLOSE = [
  at(String.raw`<\\?/\s*${PREFIX}(?:${THOUGHT})\s*>`),
  at(`<${BAR}(?:/|end_of_|end_)(?:${THOUGHT})${BAR}>|<${BAR}(?:${THOUGHT})_end${BAR}>|</${BAR}(?:${THOUGHT})${BAR}>`),
  at(String.raw`\[/(?:THINK|THINKING|REASONING|THOUGHT)\]`, 'uy'),
  at(`◁/(?:${THOUGHT})▷`),
  at(String.raw`<\|inner_suffix\|>`),
  at(String.raw`<tool_response\|>`),
  at('<unused95>'),
  at(String.raw`<channel\|>`),
  at(String.raw`\[BEGIN FINAL RESPONSE\]`, 'uy'),
];

/** Start and end marks of a call. */
interface CallForm {
  open: RegExp;
  close: RegExp;
}

const TOOL_TAG = String.raw`(?:(?:__)?tool[_-]?calls?|tool call|use_mcp_tool|tool_?use|tool_?code|function_?calls?)`;
const CALL_FORMS: readonly CallForm[] = [
  {
    open: at(`<${PREFIX}(?:longcat_)?${TOOL_TAG}${ATTRIBUTES}>`),
    close: new RegExp(`</${PREFIX}(?:longcat_)?${TOOL_TAG}\\s*>`, 'iu'),
  },
  { open: at(`<${BAR}DSML${BAR}${TOOL_TAG}>`), close: new RegExp(`</${BAR}DSML${BAR}${TOOL_TAG}>`, 'iu') },
  { open: at(`<${PREFIX}invoke\\s+name=`), close: new RegExp(`</${PREFIX}invoke\\s*>`, 'iu') },
  { open: at(String.raw`<function(?:=[^<>\n]{1,100}>|\s+name=)`), close: /<\/function\s*>/iu },
  { open: at(String.raw`<\|tool_call>`), close: /<tool_call\|>/iu },
  {
    open: at(`<${BAR}tool[_▁]calls?(?:_section)?[_▁](?:begin|start)${BAR}>`),
    close: /<[|｜‖]{1,2}tool[_▁]calls?(?:_section)?[_▁]end[|｜‖]{1,2}>(?!\s*<[|｜‖]{1,2}tool[_▁]call)/iu,
  },
  { open: at(`<${BAR}tool_calls?${BAR}>`), close: new RegExp(`<${BAR}/tool_calls?${BAR}>`, 'iu') },
  { open: at(`<${BAR}FunctionCallBegin${BAR}>`), close: new RegExp(`<${BAR}FunctionCallEnd${BAR}>`, 'iu') },
  { open: at(`<${BAR}START_ACTION${BAR}>`), close: new RegExp(`<${BAR}END_ACTION${BAR}>`, 'iu') },
  { open: at(`<${BAR}action_start${BAR}>`), close: new RegExp(`<${BAR}action_end${BAR}>`, 'iu') },
  { open: at(`<${BAR}python_tag${BAR}>`), close: new RegExp(`<${BAR}e(?:om|ot)_id${BAR}>`, 'iu') },
  { open: at(`<${BAR}tools_prefix${BAR}>`), close: new RegExp(`<${BAR}tools_suffix${BAR}>`, 'iu') },
  { open: at(String.raw`\[TOOL_REQUEST\]`, 'uy'), close: /\[END_TOOL_REQUEST\]/u },
  { open: at(String.raw`\[TOOL_CALLS\]`, 'uy'), close: /<\/s>|\[\/TOOL_CALLS\]/u },
  { open: at(String.raw`<\|open\|>tools?_?call`), close: /<\|close\|>(?:tools?_?)?call<\|sep\|>/u },
  { open: at('✿FUNCTION✿'), close: /✿RE(?:SULT|TURN)✿/u },
];

/** A message with another role that follows: what a model invents for the user is not for the user. */
const ROLE = [
  at(`<${BAR}im_start${BAR}>(\\w+)\\n?`),
  at(`<${BAR}start_header_id${BAR}>(\\w+)<${BAR}end_header_id${BAR}>\\s*`),
  at(String.raw`<start_of_turn>(\w+)\n?`),
  at(String.raw`<\|turn>(\w+)\n?`),
  at(`<${BAR}(user|assistant|system|observation)${BAR}>\\n?`),
  at(`<${BAR}(User|Assistant)${BAR}>`, 'uy'),
  at(String.raw`(\[INST\])`, 'uy'),
  // MiniMax ends a message with this token.
  at(String.raw`\[(e)~\[`, 'uy'),
];

/** Tokens that open a message header or a channel. */
const HEADER = at(String.raw`<\|(?:start|channel)\|>`);
const MESSAGE_END = at(String.raw`<\|(?:end|return|call)\|>`);

/** Tokens without a text. */
const TOKENS = [
  at(`<${PREFIX}(?:${THOUGHT})\\s*/>`),
  // Around the answer, from models that were trained to put their thoughts before it between tags.
  at(String.raw`</?(?:final_)?(?:answer|response)\s*>`),
  at(`<${BAR}${TOKEN_NAME}${BAR}>`),
  at(String.raw`<\|[a-z]\w{1,30}>|<[a-z]\w{1,30}\|>`),
  at(
    String.raw`</s>|<unused\d{1,4}>|<(?:eos|bos|pad|unk|eot|eod|end_of_turn|end_of_text|endoftext|end_of_utterance|sep)>`,
  ),
  at(String.raw`</${PREFIX}${TOOL_TAG}\s*>`),
  // Small models answer with a block that they copy from the prompt.
  at(String.raw`<untrusted\s+id="[^"<>\n]{1,64}"[^<>\n]{0,100}>|</untrusted(?:\s+id="[^"<>\n]{1,64}")?\s*>`),
  at(String.raw`\[/?(?:INST|END FINAL RESPONSE|/TOOL_CALLS)\]|\[end of text\]|<</?SYS>>`, 'uy'),
];

export type MarkKind = 'open' | 'close' | 'call' | 'role' | 'header' | 'message-end' | 'token';

export interface Mark {
  kind: MarkKind;
  text: string;
  /** Of a call, and of some thoughts: where it ends. */
  close?: RegExp;
  /** Of a message. */
  role?: string;
}

function textAt(pattern: RegExp, text: string, index: number): RegExpExecArray | null {
  pattern.lastIndex = index;
  return pattern.exec(text);
}

function firstOf(patterns: readonly RegExp[], text: string, index: number): RegExpExecArray | undefined {
  for (const pattern of patterns) {
    const found = textAt(pattern, text, index);
    if (found !== null) return found;
  }
  return undefined;
}

/** The mark at this place; undefined without one. */
export function markAt(text: string, index: number): Mark | undefined {
  const simple = (kind: MarkKind, patterns: readonly RegExp[]): Mark | undefined => {
    const found = firstOf(patterns, text, index);
    return found === undefined ? undefined : { kind, text: found[0] };
  };
  for (const { open, close } of CALL_FORMS) {
    const found = textAt(open, text, index);
    if (found !== null) return { kind: 'call', text: found[0], close };
  }
  const role = firstOf(ROLE, text, index);
  if (role !== undefined) return { kind: 'role', text: role[0], role: (role[1] ?? '').toLowerCase() };
  const details = textAt(DETAILS, text, index);
  if (details !== null) return { kind: 'open', text: details[0], close: /<\/details>/iu };
  return (
    simple('close', THOUGHT_CLOSE) ??
    simple('open', THOUGHT_OPEN) ??
    simple('header', [HEADER]) ??
    simple('message-end', [MESSAGE_END]) ??
    simple('token', TOKENS)
  );
}

/** Returns true if the text opens thoughts. */
export const hasOpening = (text: string): boolean =>
  [...text.matchAll(/[<[◁]/gu)].some(({ index }) => markAt(text, index)?.kind === 'open');

/** Where a mark can begin. */
export const MARK_START = /[<[◁✿]/u;

const names = (prefixes: readonly string[], words: string): string[] =>
  prefixes.flatMap((prefix) => words.split(' ').map((word) => `${prefix}${word}`));

const TAG_NAMES =
  'think thinking thought thoughts antthinking longcat_think reasoning reflection scratchpad scratch_pad details inner_ ' +
  'internal_ chain_of_thought cot_budget_reflect untrusted seed: antml: minimax: mm: longcat_tool_call tool_call tool_calls toolcall toolcalls ' +
  '__tool_call use_mcp_tool tool-call tool_code toolcode tool_response tool_result tool_output function_result tool_use tooluse function_call function_calls functioncall functioncalls invoke function= function s> eos> bos> pad> unk> eot> eod> sep> ' +
  'answer> response> final_answer> final_response> end_of_turn> end_of_text> endoftext> end_of_utterance> start_of_turn> unused channel|> tool_call|> turn|> <sys>>';
/** Every mark starts with one of these, in lower case. */
const LITERALS = [
  ...names(['<', '</'], TAG_NAMES),
  ...names(['[', '[/'], 'think] thinking] reasoning] thought] inst] tool_calls] tool_request]'),
  '[e~[',
  ...names(['['], 'begin/final/response] end/final/response] end/of/text]').map((one) => one.replaceAll('/', ' ')),
  ...names(['◁', '◁/'], 'think▷ thinking▷ thought▷'),
  '✿function✿',
];
const MAX_PARTIAL = 240;
/** The rest of a tag after its name. */
const REST = /^[^<>\n]*$/;
const PARTIAL_TOKEN = /^<\/?[|｜‖]{1,2}[^\s|｜‖<>]{0,48}(?:[|｜‖]{1,2})?$/u;
/** A role, channel or tag name after a token belongs to the token. */
const PARTIAL_TAIL =
  /^(?:<[|｜‖]{1,2}(?:im_start|start_header_id)[|｜‖]{1,2}>\w*(?:<(?:[|｜‖]{1,2})?[^<>]*)?|<[|｜‖]{1,2}DSML[|｜‖]{1,2}\w*|<start_of_turn>\w*|<\|turn>\w*|<\|channel>\w*|<unused94>\w*)$/iu;
/** A call's end, after which another call in the same form can follow. */
const PARTIAL_CALLS_END = /<[|｜‖]{1,2}tool[_▁]calls?(?:_section)?[_▁]end[|｜‖]{1,2}>\s*(?:<[^>]*)?$/iu;

/** Returns true if a server cut a special token at the end of its response, and left this text. */
export const isCutToken = (text: string): boolean => /^<\/?[|｜‖]{1,2}[^\s<>]{3,}$/u.test(text);

/** Returns true if the text can begin a mark. It starts with a `MARK_START` character. */
export function canBeMark(text: string): boolean {
  if (text.length > MAX_PARTIAL) return false;
  if (PARTIAL_TOKEN.test(text) || PARTIAL_TAIL.test(text)) return true;
  const lower = text.toLowerCase().replace(/^<\/\s+/, '</');
  if (text.startsWith('<\\')) return true;
  return LITERALS.some(
    (literal) =>
      literal.startsWith(lower) ||
      (lower.startsWith(literal) &&
        text.startsWith('<') &&
        /[\w:=]$/.test(literal) &&
        REST.test(text.slice(literal.length))),
  );
}

/** Where a call ends in its text; undefined if it goes on. */
export function endOfCall(close: RegExp, text: string, isWhole: boolean): { start: number; end: number } | undefined {
  const found = close.exec(text);
  if (found === null || (!isWhole && PARTIAL_CALLS_END.test(text.slice(found.index)))) return undefined;
  return { start: found.index, end: found.index + found[0].length };
}

/** Words that follow a tag in a sentence about it. */
const ABOUT =
  /^(?:["'”’»)\]]|\s?(?:标签|标记|元素|、|和|与|或)|[-–][\p{L}]|\s+(?:tags?|tokens?|elements?|blocks?|sections?|markers?|marks?|delimiters?|labels?|and|or|is|are|was|means?|to|in|for|as|which|that|und|oder|ist|et|ou|est|y|o|es)(?![\p{L}]))/u;
const ABOUT_START = /^\s+(?:tags?|tokens?|elements?|is|are|was|means?|marks?)(?![\p{L}])/u;
const PUNCTUATION = /^[.,;:!?…](?:\s|$)/u;
const IN_SENTENCE = /[\p{L}\p{N},][ \t]+$|[\p{Lo}]$/u;
const QUOTED = /(?:["'“‘«„([]|\*\*)$/u;
/** Table cell. */
const IN_CELL = /\|\s*$/u;
/** Start of a quoted line. */
const IN_QUOTATION = /^\s*(?:>\s*)+$/u;
/** The sentence goes on. */
const GOES_ON = /^\s+[\p{Ll}\p{Lo}]/u;
const IN_LIST = /^\s*(?:[-*+]|\d+[.)])\s+$/u;

/**
 * Returns true if a sentence only mentions the mark, which is then text for the user.
 *
 * @param before the line before it
 * @param after what follows it
 */
export function isMentioned(before: string, after: string): boolean {
  if (IN_CELL.test(before) && /^\s*(?:\||\p{L})/u.test(after)) return true;
  if (QUOTED.test(before) && /^(?:["'”’»“)\].,]|\*\*)/u.test(after)) return true;
  if (IN_QUOTATION.test(before)) return true;
  if (IN_SENTENCE.test(before)) return ABOUT.test(after) || PUNCTUATION.test(after) || GOES_ON.test(after);
  if (IN_LIST.test(before) && /^(?::?\s*[:=–—-]\s|[ \t]*\n|\s+\p{Ll})/u.test(after)) return true;
  return (before.trim() === '' || IN_LIST.test(before)) && ABOUT_START.test(after);
}

/** Returns true if `isMentioned` needs more text after the mark. */
export const needsMore = (before: string, after: string): boolean =>
  after.length < 16 &&
  !after.includes('\n') &&
  !/^\s*[\p{L}]+[^\p{L}]/u.test(after) &&
  !/^\s*[^\s\p{L}]./u.test(after) &&
  (IN_CELL.test(before) ||
    QUOTED.test(before) ||
    IN_SENTENCE.test(before) ||
    before.trim() === '' ||
    IN_LIST.test(before));
