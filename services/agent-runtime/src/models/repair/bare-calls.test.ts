import { describe, expect, it } from '@jest/globals';
import { runStep } from '../../../test/run-step.js';

const S = { name: 'web_search_tool', input: { query: 'tea', max_results: 3 } };
const T = { name: 'remember', input: { text: 'My tea is Darjeeling.' } };
const PAGES = { name: 'list_pages', input: {} };
const A = '{"query": "tea", "max_results": 3}';
const AT = '{"text": "My tea is Darjeeling."}';
const JS = `{"name": "web_search_tool", "arguments": ${A}}`;
const JT = `{"name": "remember", "arguments": ${AT}}`;
const F = '```';
const LONG = 'I looked at what you wrote, and there is much that I want to keep for later. '.repeat(9).trim();
const EX = `Here is an example of a tool call:\n\n${F}json\n${JT}\n${F}`;

/** A text, what the user sees of it, and the calls in it. */
const CALLS: [string, string, string, object[]][] = [
  ['tools tag after words', `Let me look.\n\n<tools>\n${JS}\n</tools>`, 'Let me look.', [S]],
  ['tools tag inline', `<tools>${JS}</tools>`, '', [S]],
  ['tools tag two', `<tools>\n${JT}\n${JS}\n</tools>`, '', [T, S]],
  ['empty tools then fence', `<tools></tools>\n${F}json\n${JS}\n${F}`, '', [S]],
  ['empty tools then words and fence', `<tools></tools>\n\nI search.\n${F}json\n${JS}\n${F}`, 'I search.', [S]],
  ['keyed', `{"remember": ${AT}}`, '', [T]],
  ['keyed fenced', `${F}json\n{"remember": ${AT}}\n${F}`, '', [T]],
  ['keyed list', `[{"web_search_tool": ${A}}]`, '', [S]],
  ['keyed two', `{"remember": ${AT}, "web_search_tool": ${A}}`, '', [T, S]],
  ['keyed in tag', `<tool_call>\n{"web_search_tool": ${A}}\n</tool_call>`, '', [S]],
  ['keyed after words', `I keep that.\n{"remember": ${AT}}`, 'I keep that.', [T]],
  ['name tag json', `<remember>${AT}</remember>`, '', [T]],
  ['name tag json lines', `<remember>\n${AT}\n</remember>`, '', [T]],
  ['cline', `<remember>\n<text>My tea is Darjeeling.</text>\n</remember>`, '', [T]],
  [
    'cline two args',
    `<web_search_tool>\n<query>tea</query>\n<max_results>3</max_results>\n</web_search_tool>`,
    '',
    [S],
  ],
  ['cline one line', `<web_search_tool><query>tea</query><max_results>3</max_results></web_search_tool>`, '', [S]],
  [
    'cline after words',
    `I search for it.\n\n<web_search_tool>\n<query>tea</query>\n<max_results>3</max_results>\n</web_search_tool>`,
    'I search for it.',
    [S],
  ],
  [
    'cline fenced',
    `${F}xml\n<web_search_tool>\n<query>tea</query>\n<max_results>3</max_results>\n</web_search_tool>\n${F}`,
    '',
    [S],
  ],
  [
    'cline mcp',
    `<use_mcp_tool>\n<server_name>x</server_name>\n<tool_name>web_search_tool</tool_name>\n<arguments>\n${A}\n</arguments>\n</use_mcp_tool>`,
    '',
    [S],
  ],
  ['long sentence then object', `${LONG}\n${JT}`, LONG, [T]],
  ['long sentence then fence', `${LONG}\n\n${F}json\n${JT}\n${F}`, LONG, [T]],
  ['two fences with words', `First:\n${F}json\n${JT}\n${F}\nThen:\n${F}json\n${JS}\n${F}`, 'First:\nThen:', [T, S]],
  [
    'fence with comment',
    `${F}json\n{\n  // the tool\n  "name": "remember",\n  "arguments": {"text": "My tea is Darjeeling.",},\n}\n${F}`,
    '',
    [T],
  ],
  ['object with trailing commas', `{"name": "remember", "arguments": {"text": "My tea is Darjeeling.",},}`, '', [T]],
  ['missing brace in tag', `<tool_call>\n{"name": "remember", "arguments": ${AT}\n</tool_call>`, '', [T]],
  ['closed with open tag', `<tool_call>\n${JT}\n<tool_call>`, '', [T]],
  ['tool_code tag', `<tool_code>\nprint(web_search_tool(query="tea", max_results=3))\n</tool_code>`, '', [S]],
  ['Apertus', `<|tools_prefix|>[{"web_search_tool": ${A}}]<|tools_suffix|>`, '', [S]],
  ['Apertus two', `<|tools_prefix|>[{"remember": ${AT}}, {"web_search_tool": ${A}}]<|tools_suffix|>`, '', [T, S]],
  ['functionary 3.2', `>>>web_search_tool\n${A}`, '', [S]],
  ['gorilla', `<<function>>web_search_tool(query="tea", max_results=3)`, '', [S]],
  [
    'Command R',
    `Action: ${F}json\n[\n    {\n        "tool_name": "web_search_tool",\n        "parameters": ${A}\n    }\n]${F}`,
    '',
    [S],
  ],
  [
    'langchain structured',
    `Action:\n${F}\n{\n  "action": "web_search_tool",\n  "action_input": ${A}\n}\n${F}`,
    '',
    [S],
  ],
  ['JS call', `remember(${AT})`, '', [T]],
  ['bracket history', `[Tool call: remember(${AT})]`, '', [T]],
  ['bracket calling', `[Calling remember with ${AT}]`, '', [T]],
  ['call then response', `<tool_call>\n${JT}\n</tool_call>\n<tool_response>\n{"ok": true}\n</tool_response>`, '', [T]],
  ['LM Studio', `[TOOL_REQUEST]\n${JT}\n[END_TOOL_REQUEST]`, '', [T]],
  ['LM Studio two', `[TOOL_REQUEST]${JT}[END_TOOL_REQUEST]\n[TOOL_REQUEST]${JS}[END_TOOL_REQUEST]`, '', [T, S]],
  ['LM Studio after words', `I keep it.\n[TOOL_REQUEST]${JT}[END_TOOL_REQUEST]`, 'I keep it.', [T]],
  [
    'a search for examples',
    `I search for examples of it, and for samples.\n${JS}`,
    'I search for examples of it, and for samples.',
    [S],
  ],
  ['semicolon', `${JT}; ${JS}`, '', [T, S]],
  ['fence tool_use', `${F}tool_use\n${JT}\n${F}`, '', [T]],
  ['fence named as tool', `${F}remember\n${AT}\n${F}`, '', [T]],
  ['fence closing on the line', `${F}json\n${JT}${F}`, '', [T]],
  ['object inline after words', `I will remember that: ${JT}`, 'I will remember that:', [T]],
  ['empty tag call', `<list_pages></list_pages>`, '', [PAGES]],
  ['self closing call', `<list_pages/>`, '', [PAGES]],
  ['tool_calls key list keyed', `{"tool_calls": [{"remember": ${AT}}]}`, '', [T]],
  ['Nova', `<__tool_call>${JT}</__tool_call>`, '', [T]],
  ['tool-call tag', `<tool-call>\n${JT}\n</tool-call>`, '', [T]],
];

/** Texts for the user that look like calls. */
const TEXTS: [string, string][] = [
  ['example', EX],
  ['example with end', `${EX}\n\nIt would store the text.`],
  ['example de', `Zum Beispiel so:\n\n${F}json\n${JT}\n${F}`],
  ['looks like', `A call of it looks like this:\n\n${F}json\n${JT}\n${F}\n\nThe name selects the tool.`],
  ['format', `The format is:\n${F}json\n${JT}\n${F}`],
  ['python example', `You can call it so, for example:\n\n${F}python\nremember(text="a")\n${F}`],
  ['python def', `${F}python\ndef remember(text):\n    print(text)\n\nremember(text="a")\n${F}`],
  ['name key word', '{"name": "remember", "type": "verb"}'],
  ['name key description', '{"name": "remember", "description": "to keep in mind"}'],
  ['name fenced', `${F}json\n{"name": "remember", "type": "verb"}\n${F}`],
  [
    'definitions',
    `${F}json\n[{"name": "remember", "description": "Keeps", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}]\n${F}`,
  ],
  [
    'definition of list_pages',
    `{"name": "list_pages", "description": "Lists", "parameters": {"type": "object", "properties": {}}}`,
  ],
  [
    'definitions in openai form',
    `{"tools": [{"type": "function", "function": {"name": "web_search_tool", "parameters": {"type": "object", "properties": {"query": {"type": "string"}}}}}]}`,
  ],
  ['tool names list', `{"tools": [{"name": "remember"}, {"name": "web_search_tool"}]}`],
  ['keyed other', `{"remember": "milk", "todo": ["a"]}`],
  ['keyed object with other', `{"recall": {"product": "car", "year": 2020}}`],
  ['keyed next to other', `{"recall": {"query": "x"}, "age": 3}`],
  ['action object', '{"action": "remember", "when": "now"}'],
  ['xml recall other', '<recall><product>car</product></recall>'],
  ['csv', 'name,arguments\nremember,1'],
  ['sentence with call', 'You can use remember(text="a") for that.'],
  ['function signature', 'remember(text, core=False) stores a text.'],
  ['json list', '[{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bob"}]'],
  ['json with function', '{"function": "sum", "parameters": {"a": 1}}'],
  ['settings', '{"remember": {"text": "x", "color": "red"}}'],
];

const splits = (text: string): string[][] => [[text], [...text], text.match(/[\s\S]{1,7}/g) ?? []];

describe('a call without the marks of its template', () => {
  it.each(CALLS)('runs and does not reach the user: %s', (_name, text, shown, calls) => {
    for (const parts of splits(text)) expect(runStep(parts)).toMatchObject({ shown, calls, step: { text: shown } });
  });

  it.each(TEXTS)('is none if it is for the user: %s', (_name, text) => {
    for (const parts of splits(text)) expect(runStep(parts)).toMatchObject({ shown: text, calls: [], step: { text } });
  });

  it.each(['a</think>', '</think>', '` ', '[TOOL_REQUEST]'])('is looked for once in a text that repeats %j', (mark) => {
    const text = mark.repeat(150_000 / mark.length);
    expect(runStep(text.match(/[\s\S]{1,40}/g) ?? []).step).toBeDefined();
  });

  it('is not looked for in each of very many brackets', () => {
    const text = '{\n'.repeat(200_000);
    expect(runStep([text])).toMatchObject({ shown: text, calls: [] });
  });
});
