// A file's prose: its comments and strings, with everything else blanked out. Lines keep their numbers.

const SCRIPT = /\.(?:tsx?|js|mjs)$/;
/** A string with fewer words is a name, a path or a key. */
const WORDS_OF_A_SENTENCE = 3;
/** A slash after one of these begins a regular expression. */
const BEFORE_REGEX = /(?:^|[=(,:;!&|?{}[\]+\-*%~<>]|\b(?:return|typeof|case|in|of|await))\s*$/;

/** @returns the text to lint, line by line as in the file */
export function extractProse(path, text) {
  const prose = SCRIPT.test(path) ? scriptProse(text) : text;
  return prose.split('\n').map(withoutMarkers).join('\n');
}

/** @returns a script's comments, or another file's whole text, line by line as in the file */
export function extractComments(path, text) {
  const prose = SCRIPT.test(path) ? scriptProse(text, { strings: false }) : text;
  return prose.split('\n').map(withoutMarkers).join('\n');
}

/** Comment markers would part a phrase that goes on in the next line; code in backticks is quoted, not written. */
function withoutMarkers(line) {
  return line
    .replace(/^\s*(?:\/\*\*?|\*\/|\*(?=\s|$)|\/\/|#+(?=\s|$)|--(?=\s)|>(?=\s)|[-*](?=\s))/, ' ')
    .replace(/`[^`]*`/g, 'code')
    .replace(/https?:\/\/\S+/g, 'URL')
    .replace(/\]\([^)\s]*\)/g, ']');
}

function scriptProse(text, { strings = true } = {}) {
  const blank = (from, to) => text.slice(from, to).replace(/[^\n]/g, ' ');
  let prose = '';
  let at = 0;
  // Brace depths at which a template literal goes on.
  const templates = [];
  let braces = 0;
  const string = (from, to) => {
    const words = text.slice(from, to).trim().split(/\s+/).length;
    prose += strings && words >= WORDS_OF_A_SENTENCE ? text.slice(from, to).replaceAll('`', ' ') : blank(from, to);
  };
  const template = (from) => {
    const end = endOfTemplate(text, from);
    string(from, end.at);
    if (end.opens) templates.push((braces += 1));
    at = end.at + (end.opens ? 2 : 1);
    prose += blank(end.at, at);
  };
  while (at < text.length) {
    const from = at;
    const two = text.slice(at, at + 2);
    if (two === '//') {
      at = orEnd(text.indexOf('\n', at), text);
      prose += text.slice(from, at);
    } else if (two === '/*') {
      at = orEnd(text.indexOf('*/', at + 2), text);
      prose += text.slice(from, at);
    } else if (text[at] === "'" || text[at] === '"') {
      at = endOfString(text, at);
      string(from, at);
    } else if (text[at] === '`') {
      prose += ' ';
      template(at + 1);
    } else if (text[at] === '}' && templates.at(-1) === braces) {
      templates.pop();
      braces -= 1;
      prose += ' ';
      template(at + 1);
    } else {
      if (text[at] === '{') braces += 1;
      if (text[at] === '}') braces -= 1;
      at = text[at] === '/' && BEFORE_REGEX.test(text.slice(Math.max(0, at - 20), at)) ? endOfRegex(text, at) : at + 1;
      prose += blank(from, at);
    }
  }
  return prose;
}

const orEnd = (index, text) => (index === -1 ? text.length : index);

function endOfString(text, from) {
  let at = from + 1;
  while (at < text.length && text[at] !== text[from] && text[at] !== '\n') at += text[at] === '\\' ? 2 : 1;
  return Math.min(at + 1, text.length);
}

function endOfTemplate(text, from) {
  let at = from;
  while (at < text.length && text[at] !== '`') {
    if (text.startsWith('${', at)) return { at, opens: true };
    at += text[at] === '\\' ? 2 : 1;
  }
  return { at: Math.min(at, text.length), opens: false };
}

function endOfRegex(text, from) {
  let at = from + 1;
  let inClass = false;
  while (at < text.length && text[at] !== '\n' && (inClass || text[at] !== '/')) {
    if (text[at] === '[') inClass = true;
    if (text[at] === ']') inClass = false;
    at += text[at] === '\\' ? 2 : 1;
  }
  return Math.min(at + 1, text.length);
}
