import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { runStep as run } from '../../../test/run-step.js';

const SEARCH = { name: 'web_search_tool', input: { query: 'tea', max_results: 3 } };
const TEA = { name: 'remember', input: { text: 'My tea is Darjeeling.' } };

const JSON_SEARCH = '{"name": "web_search_tool", "arguments": {"query": "tea", "max_results": 3}}';
const JSON_TEA = '{"name": "remember", "arguments": {"text": "My tea is Darjeeling."}}';

/** Forms in which models write one call. */
const FORMS: [string, string][] = [
  ['Hermes and Qwen', `<tool_call>\n${JSON_SEARCH}\n</tool_call>`],
  ['Hermes without an end', `<tool_call>\n${JSON_SEARCH}`],
  ['Hermes in another case', `<TOOL_CALL>${JSON_SEARCH}</TOOL_CALL>`],
  ['Nemotron', `<TOOLCALL>[${JSON_SEARCH}]</TOOLCALL>`],
  ['Jamba and Hunyuan', `<tool_calls>[${JSON_SEARCH}]</tool_calls>`],
  ['Granite', `<|tool_call|>[${JSON_SEARCH}]`],
  ['Granite 3', `<tool_call>[${JSON_SEARCH}]`],
  ['Phi-4', `<|tool_call|>[${JSON_SEARCH}]<|/tool_call|>`],
  ['Phi-4 mini', `functools[${JSON_SEARCH}]`],
  ['a tag for functions', `<function_call>${JSON_SEARCH}</function_call>`],
  [
    'Qwen3-Coder',
    '<tool_call>\n<function=web_search_tool>\n<parameter=query>\ntea\n</parameter>\n<parameter=max_results>\n3\n</parameter>\n</function>\n</tool_call>',
  ],
  [
    'Qwen3-Coder without the outer tag',
    '<function=web_search_tool>\n<parameter=query>\ntea\n</parameter>\n<parameter=max_results>3</parameter>\n</function>',
  ],
  [
    'Qwen3-Coder without the inner ends',
    '<tool_call><function=web_search_tool><parameter=query>tea<parameter=max_results>3</function></tool_call>',
  ],
  ['Llama 3.1 with a tag', '<function=web_search_tool>{"query": "tea", "max_results": "3"}</function>'],
  [
    'Llama 3 with a token',
    '<|python_tag|>{"name": "web_search_tool", "parameters": {"query": "tea", "max_results": "3"}}<|eom_id|>',
  ],
  ['Llama 3 with a Python call', '<|python_tag|>web_search_tool.call(query="tea", max_results=3)'],
  ['Llama 3 without a token', '{"name": "web_search_tool", "parameters": {"query": "tea", "max_results": 3}}'],
  ['Llama 4', '[web_search_tool(query="tea", max_results=3)]'],
  ['OLMo', '<function_calls>\nweb_search_tool(query="tea", max_results=3)\n</function_calls>'],
  ['LFM2', "<|tool_call_start|>[web_search_tool(query='tea', max_results=3)]<|tool_call_end|>"],
  ['Mistral', `[TOOL_CALLS][${JSON_SEARCH}]`],
  ['Mistral Small 3.2', '[TOOL_CALLS]web_search_tool[ARGS]{"query": "tea", "max_results": 3}'],
  ['Mistral with an id', '[TOOL_CALLS]web_search_tool[CALL_ID]abcdefghi[ARGS]{"query": "tea", "max_results": 3}</s>'],
  [
    'DeepSeek V3 and R1',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>web_search_tool\n```json\n{"query": "tea", "max_results": 3}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  ],
  [
    'DeepSeek V3.1',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>web_search_tool<｜tool▁sep｜>{"query": "tea", "max_results": 3}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  ],
  [
    'DeepSeek V3.2',
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="web_search_tool">\n<｜DSML｜parameter name="query" string="true">tea</｜DSML｜parameter>\n<｜DSML｜parameter name="max_results" string="false">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
  ],
  [
    'DeepSeek V4',
    '<｜｜DSML｜｜tool_calls><｜｜DSML｜｜invoke name="web_search_tool"><｜｜DSML｜｜parameter name="query">tea</｜｜DSML｜｜parameter><｜｜DSML｜｜parameter name="max_results">3</｜｜DSML｜｜parameter></｜｜DSML｜｜invoke></｜｜DSML｜｜tool_calls>',
  ],
  [
    'Kimi K3',
    '<|open|>toolscall tool="web_search_tool" index="1"<|sep|><|open|>argument key="query" type="string"<|sep|>tea<|close|>argument<|sep|><|open|>argument key="max_results" type="integer"<|sep|>3<|close|>argument<|sep|><|close|>call<|sep|>',
  ],
  [
    'Kimi K2',
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.web_search_tool:0<|tool_call_argument_begin|>{"query": "tea", "max_results": 3}<|tool_call_end|><|tool_calls_section_end|>',
  ],
  [
    'GLM',
    '<tool_call>web_search_tool\n<arg_key>query</arg_key>\n<arg_value>tea</arg_value>\n<arg_key>max_results</arg_key>\n<arg_value>3</arg_value>\n</tool_call>',
  ],
  [
    'GLM on one line',
    '<tool_call>web_search_tool<arg_key>query</arg_key><arg_value>tea</arg_value><arg_key>max_results</arg_key><arg_value>3</arg_value></tool_call>',
  ],
  [
    'gpt-oss',
    '<|channel|>commentary to=functions.web_search_tool <|constrain|>json<|message|>{"query": "tea", "max_results": 3}<|call|>',
  ],
  [
    'gpt-oss with thoughts',
    '<|channel|>analysis<|message|>I search.<|end|><|start|>assistant<|channel|>commentary to=functions.web_search_tool <|constrain|>json<|message|>{"query": "tea", "max_results": 3}<|call|>',
  ],
  [
    'gpt-oss with the recipient first',
    '<|start|>assistant to=functions.web_search_tool<|channel|>commentary json<|message|>{"query": "tea", "max_results": 3}<|call|>',
  ],
  [
    'gpt-oss without special tokens',
    'analysisI search.assistantcommentary to=functions.web_search_tool json{"query": "tea", "max_results": 3}',
  ],
  [
    'MiniMax',
    '<minimax:tool_call>\n<invoke name="web_search_tool">\n<parameter name="query">tea</parameter>\n<parameter name="max_results">3</parameter>\n</invoke>\n</minimax:tool_call>',
  ],
  [
    'Claude',
    '<function_calls>\n<invoke name="web_search_tool">\n<parameter name="query">tea</parameter>\n<parameter name="max_results">3</parameter>\n</invoke>\n</function_calls>',
  ],
  [
    'Claude without the outer tag',
    '<invoke name="web_search_tool"><parameter name="query">tea</parameter><parameter name="max_results">3</parameter></invoke>',
  ],
  [
    'Seed-OSS',
    '<seed:tool_call>\n<function=web_search_tool>\n<parameter=query>tea</parameter>\n<parameter=max_results>3</parameter>\n</function>\n</seed:tool_call>',
  ],
  ['LongCat', `<longcat_tool_call>${JSON_SEARCH}</longcat_tool_call>`],
  [
    'Command',
    `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "web_search_tool", "parameters": {"query": "tea", "max_results": 3}}]<|END_ACTION|>`,
  ],
  [
    'InternLM',
    '<|action_start|><|plugin|>{"name": "web_search_tool", "parameters": {"query": "tea", "max_results": 3}}<|action_end|>',
  ],
  [
    'Doubao',
    `<|FunctionCallBegin|>[{"name": "web_search_tool", "parameters": {"query": "tea", "max_results": 3}}]<|FunctionCallEnd|>`,
  ],
  ['Gemma 4', '<|tool_call>call:web_search_tool{query:<|"|>tea<|"|>,max_results:3}<tool_call|>'],
  ['Gemini', '```tool_code\nprint(default_api.web_search_tool(query="tea", max_results=3))\n```'],
  ['Gemma 3', '```tool_code\nweb_search_tool(query="tea", max_results=3)\n```'],
  ['Qwen-Agent', '✿FUNCTION✿: web_search_tool\n✿ARGS✿: {"query": "tea", "max_results": 3}\n✿RESULT✿'],
  ['a bare object', JSON_SEARCH],
  ['a list', `[${JSON_SEARCH}]`],
  ['a fenced object', `\`\`\`json\n${JSON_SEARCH}\n\`\`\``],
  ['a fence without a language', `\`\`\`\n${JSON_SEARCH}\n\`\`\``],
  ['a fenced tag', `\`\`\`xml\n<tool_call>\n${JSON_SEARCH}\n</tool_call>\n\`\`\``],
  ['other keys', '{"tool": "web_search_tool", "args": {"query": "tea", "max_results": 3}}'],
  [
    'the format of requests',
    '{"type": "function", "function": {"name": "web_search_tool", "parameters": {"query": "tea", "max_results": 3}}}',
  ],
  ['the format of responses', `{"tool_calls": [{"id": "a", "type": "function", "function": ${JSON_SEARCH}}]}`],
  ['encoded arguments', '{"name": "web_search_tool", "arguments": "{\\"query\\": \\"tea\\", \\"max_results\\": 3}"}'],
  ['single quotes', "{'name': 'web_search_tool', 'arguments': {'query': 'tea', 'max_results': 3}}"],
  ['a name before the object', 'web_search_tool\n{"query": "tea", "max_results": 3}'],
  ['a list of tools', `<tools>\n${JSON_SEARCH}\n</tools>`],
  ['an announced object', `TOOL_CALL: ${JSON_SEARCH}`],
  [
    'tags for functions with names',
    '<function name="web_search_tool">\n<parameter name="query">tea</parameter>\n<parameter name="max_results">3</parameter>\n</function>',
  ],
  [
    'tags for name and arguments',
    '<tool_call>\n<name>web_search_tool</name>\n<arguments>{"query": "tea", "max_results": 3}</arguments>\n</tool_call>',
  ],
  ['a tag with a name', '<tool_call name="web_search_tool">{"query": "tea", "max_results": 3}</tool_call>'],
  ['a Python call', 'web_search_tool(query="tea", max_results=3)'],
  ['ReAct', 'Action: web_search_tool\nAction Input: {"query": "tea", "max_results": 3}\nObservation: invented'],
];

describe('a call that a model writes as text', () => {
  it.each(FORMS)('runs and does not reach the user: %s', (_name, text) => {
    expect(run([text])).toMatchObject({ shown: '', calls: [SEARCH], step: { finish: 'calls', text: '' } });
  });

  it('runs wherever the text is split', () => {
    fc.assert(
      fc.property(fc.constantFrom(...FORMS), fc.array(fc.nat()), ([, text], places) => {
        const at = [
          0,
          ...places.map((place) => place % text.length).toSorted((left, right) => left - right),
          text.length,
        ];
        const { shown, calls } = run(at.slice(1).map((end, index) => text.slice(at[index], end)));
        expect({ shown, calls }).toEqual({ shown: '', calls: [SEARCH] });
      }),
      { numRuns: 1_000 },
    );
  });

  it('is not shown before it is known to be one', () => {
    for (const text of [JSON_TEA, `\`\`\`json\n${JSON_TEA}\n\`\`\``, `<tool_call>${JSON_TEA}</tool_call>`]) {
      expect(run([...text]).events).toEqual([]);
    }
  });

  it.each<[string, string, string]>([
    ['words before it', `Sure, I remember that:\n\n\`\`\`json\n${JSON_TEA}\n\`\`\``, 'Sure, I remember that:'],
    ['words after it', `${JSON_TEA}\n\nI have noted it.`, 'I have noted it.'],
    ['words around it', `I note it.\n<tool_call>\n${JSON_TEA}\n</tool_call>\nDone.`, 'I note it.\nDone.'],
    ['thoughts before it', `<think>Hm.</think>\n${JSON_TEA}`, ''],
    ['a token after it', `${JSON_TEA}<|im_end|>`, ''],
  ])('leaves the words for the user: %s', (_name, text, shown) => {
    expect(run([...text])).toMatchObject({ shown, calls: [TEA], step: { text: shown } });
  });

  it.each<[string, string]>([
    ['two objects', `${JSON_TEA}\n${JSON_SEARCH}`],
    ['two fences', `\`\`\`json\n${JSON_TEA}\n\`\`\`\n\n\`\`\`json\n${JSON_SEARCH}\n\`\`\``],
    ['a list', `[${JSON_TEA}, ${JSON_SEARCH}]`],
    ['two tags', `<tool_call>${JSON_TEA}</tool_call>\n<tool_call>${JSON_SEARCH}</tool_call>`],
    ['one tag', `<tool_call>${JSON_TEA}\n${JSON_SEARCH}</tool_call>`],
    [
      'two calls in a section',
      '<|tool_calls_section_begin|><|tool_call_begin|>functions.remember:0<|tool_call_argument_begin|>{"text": "My tea is Darjeeling."}<|tool_call_end|><|tool_call_begin|>functions.web_search_tool:1<|tool_call_argument_begin|>{"query": "tea", "max_results": 3}<|tool_call_end|><|tool_calls_section_end|>',
    ],
    ['Python', '[remember(text="My tea is Darjeeling."), web_search_tool(query="tea", max_results=3)]'],
    [
      'XML',
      '<function_calls><invoke name="remember"><parameter name="text">My tea is Darjeeling.</parameter></invoke><invoke name="web_search_tool"><parameter name="query">tea</parameter><parameter name="max_results">3</parameter></invoke></function_calls>',
    ],
  ])('can be one of several: %s', (_name, text) => {
    expect(run([...text])).toMatchObject({ shown: '', calls: [TEA, SEARCH] });
  });

  it('runs once if the server also sends it as a call', () => {
    const call = {
      type: 'tool-call' as const,
      toolCallId: 'a',
      toolName: 'remember',
      input: JSON.stringify(TEA.input),
    };
    expect(run([`<tool_call>${JSON_TEA}</tool_call>`], [call])).toMatchObject({ shown: '', calls: [TEA] });
  });

  it('runs if it is an argument of an unknown tool', () => {
    const uses = [
      { recipient_name: 'functions.remember', parameters: TEA.input },
      { recipient_name: 'functions.web_search_tool', parameters: SEARCH.input },
    ];
    const input = JSON.stringify({ tool_uses: uses });
    const call = { type: 'tool-call' as const, toolCallId: 'a', toolName: 'multi_tool_use.parallel', input };
    expect(run([], [call])).toMatchObject({ calls: [TEA, SEARCH] });
  });

  it('runs if it is part of thoughts that do not end', () => {
    expect(run([`<think>I need it.\n<tool_call>\n${JSON_TEA}\n</tool_call>`])).toMatchObject({
      shown: '',
      calls: [TEA],
    });
  });

  it('is an unknown call if its tool is not offered', () => {
    const text = '<tool_call>{"name": "forget", "arguments": {"id": 1}}</tool_call>';
    expect(run([text])).toMatchObject({ shown: '', calls: [{ name: 'forget', input: { id: 1 } }] });
  });

  it('is reported if it cannot be read', () => {
    const text = '<tool_call>{"name": "remember", "arguments": {"text": "My t';
    const { shown, calls, step } = run([text]);
    expect({ shown, calls, unreadable: step?.unreadable }).toEqual({
      shown: '',
      calls: [{ name: 'remember', input: undefined }],
      unreadable: text,
    });
  });

  it('is left out if no tools are offered', () => {
    expect(run([`A title.\n<tool_call>${JSON_TEA}</tool_call>`], [], [])).toMatchObject({
      shown: 'A title.',
      calls: [],
    });
  });

  it.each<[string, string]>([
    ['JSON that the user asked for', '{"name": "John", "age": 30}'],
    ['fenced JSON', '```json\n{"name": "John", "arguments": {"a": 1}}\n```'],
    ['a list of numbers', '[1, 2, 3]'],
    ['a tool that is not offered', '{"name": "forget", "arguments": {"id": 1}}'],
    ['arguments that are cut', '{"name": "remember", "arguments": {"text": "My t'],
    ['code', '```python\nremember = {"a": 1}\nprint(remember)\n```'],
    ['the name of a tool', 'remember that (as always) tea is good'],
    ['an explanation', `\`\`\`json\n${JSON_TEA}\n\`\`\`\n${'A long text about tools. '.repeat(30)}`],
    ['a quoted form', `Use \`<tool_call>${JSON_TEA}</tool_call>\` for it.`],
    ['a form in a sentence', `The <tool_call> element wraps a call.`],
  ])('stays text if it is for the user: %s', (_name, text) => {
    expect(run([...text])).toMatchObject({ shown: text, calls: [], step: { finish: 'answered', text } });
  });
});
