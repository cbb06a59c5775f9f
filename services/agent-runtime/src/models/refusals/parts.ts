// Finds the request part that a server refuses, so that the request can be repeated without it.

/** Parts that are moved, become text or are left out. Others are body fields. */
const STRUCTURAL: readonly string[] = ['tools', 'system', 'images', 'reasoning'];

export interface RefusedPart {
  name: string;
  /** True if the server refuses it in each request: later requests omit it from the start. */
  always: boolean;
}

const UNSUPPORTED =
  /(?:not|n't|cannot|no longer)(?: be| have been| currently| yet)* (?:supported|support|allow|allowed|enabled|available|permitted|accepted|accept|implemented|configured|compatible|understand)|unsupported|no endpoints found that support|requires? (?:the )?--|only supported (?:by|for|with|in)|only supports? text|(?:is|are) disabled|missing data required|not a multimodal|at most 0|no (?:vision|multimodal|tool|function)[ -](?:calls? |calling |use )?(?:support|parser|capabilit)|text[- ]only|不支持|未启用|サポートされてい?ま?せん|対応していません|지원하지|не поддержива|nicht unterstützt|ne (?:prend|supporte)|pas (?:pris|supporté)|no (?:es compatible|admite|soporta)/;
const INVALID =
  /unknown|unrecognized|unrecognised|unexpected|extra (?:inputs?|fields?|parameters?)|additional propert|no such|invalid|not (?:a )?valid|must be|should be|does not match|expected|only|forbidden|cannot|could not|can't|without|missing|failed|error/;

const TOOLS =
  /\b(?:tools?|tool[ _-]?(?:use|calls?|calling|choice)|function[ _-]?(?:calls?|calling)|functions?)\b|--jinja|--tool-call-parser|工具|函数调用|ツール|도구|инструмент|werkzeug|\boutils?\b|herramienta/;
const SYSTEM =
  /\b(?:system|developer)['"` _-]{1,3}(?:role|messages?|prompts?|instructions?)\b|\broles?\b[^.\n]{0,30}['"`]?(?:system|developer)\b|support ['"`]?system\b|\bsystem\b['"`: ]*(?:input|extra|not|is|unexpected|角色|消息|提示|ロール|역할)|invalid value: ['"`]?(?:system|developer)\b/;
const ROLES =
  /roles? (?:must|should|need to) alternate|alternate (?:between )?user|only (?:the )?user(?:,| and| or) |(?:input should be|expected|must be)(?: one of)? ['"`]?user['"`]? or ['"`]?assistant|messages\.\d+\.role|messages\[\d+\]\.role|after the optional system|first message must|unexpected role|invalid role|unknown role|must be (?:from )?(?:the |a )?user/;
const IMAGES =
  /\b(?:images?|image_urls?|image[ _-]inputs?|vision|multi-?modal(?:ity)?|pictures?|mmproj|visual)\b|图片|图像|画像|이미지|изображени|\bbild(?:er)?\b|imágenes|content\b[^.\n]{0,40}(?:a valid string|be a string|expected (?:a )?string)|invalid type: sequence/;
const REASONING = /\b(?:redacted_)?thinking\b|\breasoning\b|\bthought_?signatures?\b|\bsignature\b/;

/** Conversation parts, which another conversation does not have. */
const OF_CONVERSATION =
  /messages?[.[]\d+\]?[.:](?!role|content\.\d+\.cache_control)|tool_call_id|tool_use_id|tool_result|tool_use`? ids/;

const STREAMING = /in (?:the )?streaming mode|with stream(?:ing)?\b|when streaming/;

/** The server's own failures are only understood if they are explicit. */
const isExplicit = (status: number | undefined): boolean => status === 404 || (status !== undefined && status >= 500);

/** Servers refuse request parts with these statuses. */
const REFUSALS: ReadonlySet<number> = new Set([400, 404, 405, 415, 422, 424, 500, 501]);

const escaped = (name: string): string => name.replaceAll(/[^\w]/g, String.raw`\$&`);

function indexOfField(line: string, name: string): number {
  const spelled = name === 'stream' ? 'stream(?:ing)?' : escaped(name.toLowerCase());
  return line.search(new RegExp(String.raw`(?<![\w$-])${spelled}(?![\w-])`));
}

const byIndex = (found: readonly { name: string; index: number }[]): string[] =>
  found
    .filter(({ index }) => index >= 0)
    .toSorted((one, other) => one.index - other.index)
    .map(({ name }) => name);

/** The parts that a line names, the most likely first. */
function namedIn(line: string, fields: readonly string[]): string[] {
  if (STREAMING.test(line) && fields.includes('stream')) return ['stream', ...(TOOLS.test(line) ? ['tools'] : [])];
  const named = byIndex(fields.map((name) => ({ name, index: indexOfField(line, name) })));
  if (ROLES.test(line)) return [...named, 'system', 'tools'];
  const structural = byIndex([
    { name: 'system', index: line.search(SYSTEM) },
    { name: 'reasoning', index: line.search(REASONING) },
    { name: 'images', index: line.search(IMAGES) },
    { name: 'tools', index: line.search(TOOLS) },
  ]);
  // A field inside of tools is left out before all tools are.
  return [...named, ...structural];
}

/**
 * The parts that a server refuses, the most likely first; none if the refusal is about something else.
 *
 * @param words the response's words, in lower case
 * @param sent the fields and structural parts of the refused request
 */
export function refusedParts(
  status: number | undefined,
  words: string,
  sent: { fields: readonly string[]; structural: ReadonlySet<string> },
): RefusedPart[] {
  if (status !== undefined && !REFUSALS.has(status)) return [];
  const found = new Map<string, RefusedPart>();
  for (const line of words.split(/[\n;]|[.!?](?=\s|$)/)) {
    const unsupported = UNSUPPORTED.test(line) || ROLES.test(line);
    if (!unsupported && (isExplicit(status) || !INVALID.test(line))) continue;
    for (const name of namedIn(line, sent.fields)) {
      const isStructural = STRUCTURAL.includes(name);
      if (isStructural && !sent.structural.has(name)) continue;
      const always = !isStructural || ((unsupported || name === 'system') && !OF_CONVERSATION.test(line));
      if (!found.has(name)) found.set(name, { name, always });
    }
  }
  return [...found.values()];
}
