import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createPrivateText, type Piece } from './private-text.js';

/** Feeds the text in these parts. @returns the visible text, the thoughts, and the calls */
function read(parts: readonly string[]) {
  const filter = createPrivateText();
  let text = '';
  let thoughts = '';
  const calls: string[] = [];
  const apply = (pieces: readonly Piece[]): void => {
    for (const piece of pieces) {
      if (piece.type === 'text') text += piece.text;
      else if (piece.type === 'thought') thoughts += piece.text;
      else if (piece.type === 'void') text = text.slice(0, piece.length);
      else calls.push(piece.text);
    }
  };
  for (const part of parts) apply(filter.add(part));
  apply(filter.end());
  return { text, thoughts, calls };
}

const visible = (text: string): string => read([text]).text;

/** Cuts a text at these places. */
function cutAt(text: string, places: readonly number[]): string[] {
  const at = [
    0,
    ...places.map((place) => place % (text.length + 1)).toSorted((left, right) => left - right),
    text.length,
  ];
  return at.slice(1).map((end, index) => text.slice(at[index], end));
}

const TAGS = [
  'think',
  'thinking',
  'thought',
  'reasoning',
  'reflection',
  'seed:think',
  'longcat_think',
  'antThinking',
  'scratchpad',
  'THINK',
];
const PAIRS: [string, string][] = [
  ...TAGS.map((tag): [string, string] => [`<${tag}>`, `</${tag}>`]),
  ['<think type="hidden">', '</think >'],
  ['[THINK]', '[/THINK]'],
  ['◁think▷', '◁/think▷'],
  ['<|inner_prefix|>', '<|inner_suffix|>'],
  ['<tool_response>', '</tool_response>'],
  ['<think>', '</ think>'],
  ['<|START_THINKING|>', '<|END_THINKING|>'],
  ['<|begin_of_thought|>', '<|end_of_thought|>'],
  ['<|thinking|>', '<|/thinking|>'],
  ['<unused94>thought\n', '<unused95>'],
  ['<|channel>thought\n', '<channel|>'],
  ['<｜think｜>', '<｜/think｜>'],
];

/** Each entry has private text and its visible part. */
const PRIVATE: [string, string, string][] = [
  ['the tags of an answer', '<answer>\nHello.\n</answer>', 'Hello.'],
  ['the tags of an answer after thoughts', '<think>Hm.</think>\n<final_answer>Hello.</final_answer>', 'Hello.'],
  ['an empty response', '<response>\n</response>\n\n<response>\n</response>', ''],
  ...PAIRS.flatMap(([open, close]): [string, string, string][] => [
    [`${open} before the text`, `${open}\nHm. SECRET.\n${close}\n\nHello.`, 'Hello.'],
    [`${open} before the text on one line`, `${open}SECRET${close}Hello.`, 'Hello.'],
    [`${open} after the text`, `Hello.\n${open}SECRET${close}\nBye.`, 'Hello.\nBye.'],
    [`${open} twice`, `${open}SECRET${close}One. ${open}SECRET${close} Two.`, 'One. Two.'],
    [`${open} at the end`, `Hello.\n\n${open}SECRET${close}\n`, 'Hello.'],
    [`${open} without an end`, `Hello.\n${open}\nSECRET`, 'Hello.'],
    [`${close} without a beginning`, `Hm, SECRET.\nYes.\n${close}\n\nHello.`, 'Hello.'],
    [`${close} without a beginning in a line`, `HIDDEN reasoning …${close} the answer`, 'the answer'],
    [`${open} in itself`, `${open}\nSECRET.\n${open}SECRET${close}SECRET${close}Hello.`, 'Hello.'],
  ]),
  ['thoughts with a fence that does not end', '```\nSECRET\n</think>\n\nHello.', 'Hello.'],
  ['thoughts with code', 'I use ```js\nlet a;\n``` SECRET</think>Hello.', 'Hello.'],
  ['thoughts that quote their end', '<think>I must explain `</think>` SECRET</think>Hello.', 'Hello.'],
  ['an opening tag in thoughts', '<think>\nThe tag:\n<think> SECRET</think>Hello.', 'Hello.'],
  ['tags around the answer', '<think>SECRET</think>\n<answer>\nHello.\n</answer>', 'Hello.'],
  [
    'channels',
    '<|channel|>analysis<|message|>SECRET<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>',
    'Hello.',
  ],
  ['channels after a prepared start', 'SECRET<|end|><|start|>assistant<|channel|>final<|message|>Hello.', 'Hello.'],
  ['channels without an end', '<|channel|>analysis<|message|>SECRET<|channel|>final<|message|>Hello.', 'Hello.'],
  ['a channel with a format', '<|channel|>final <|constrain|>text<|message|>Hello.<|end|>', 'Hello.'],
  [
    'a preamble in a channel',
    '<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>analysis<|message|>SECRET',
    'I look.',
  ],
  ['channels without special tokens', 'analysisWe should. SECRET.assistantfinalHello.', 'Hello.'],
  ['the end of an announced thought', 'Here is my thought process:\nSECRET\n\nHere is my response:\nHello.', 'Hello.'],
  ['a final response in brackets', 'SECRET steps.\n[BEGIN FINAL RESPONSE]\nHello.\n[END FINAL RESPONSE]', 'Hello.'],
  ...[
    '<|im_end|>',
    '<|eot_id|>',
    '</s>',
    '<end_of_turn>',
    '<|endoftext|>',
    '<|return|>',
    '<｜end▁of▁sentence｜>',
    '<eos>',
    '<|end_of_text|>',
    '<|END_RESPONSE|>',
    '<|eom_id|>',
    '<|im_end|>\n',
    '[end of text]',
    '<turn|>',
    '<|eot|>',
    '<|endofturn|>',
    '[e~[',
    '<unused32><unused32>',
  ].map((token): [string, string, string] => [token, `Hello.${token}`, 'Hello.']),
  ['a token that is cut', 'Hello.<｜DSML｜function_calls', 'Hello.'],
  [
    'thoughts of Open WebUI',
    '<details type="reasoning" done="true" duration="3">\n<summary>Thought for 3 seconds</summary>\n> SECRET\n</details>\n\nHello.',
    'Hello.',
  ],
  [
    'the tags of a block that is copied from the prompt',
    '<untrusted id="21e7c00bb6042de6" source="memories">\n- [core] dog: Rex\n</untrusted id="21e7c00bb6042de6">',
    '- [core] dog: Rex',
  ],
  ['the first token of a text', '<s> Hello.</s>', 'Hello.'],
  ['an invented message of MiniMax', 'Hello.[e~[\n]~b]user\nSECRET', 'Hello.'],
  ['a token before the text', '<|START_RESPONSE|>Hello.<|END_RESPONSE|>', 'Hello.'],
  ['a box', '<|begin_of_box|>Hello.<|end_of_box|>', 'Hello.'],
  ['an invented message', 'Hello.<|im_end|>\n<|im_start|>user\nSECRET<|im_end|>\n', 'Hello.'],
  ['an invented message of Llama', 'Hello.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nSECRET', 'Hello.'],
  ['an invented message of Gemma', 'Hello.<end_of_turn>\n<start_of_turn>user\nSECRET', 'Hello.'],
  ['the header of the own message', '<|im_start|>assistant\nHello.<|im_end|>', 'Hello.'],
  ['a call', 'I look.\n<tool_call>\n{"name": "SECRET"}\n</tool_call>', 'I look.'],
  ['a call and a text', '<tool_call>{"name": "SECRET"}</tool_call>\nHello.', 'Hello.'],
  [
    'a call in a channel',
    '<|channel|>commentary to=functions.web_search <|constrain|>json<|message|>{"SECRET":1}<|call|>',
    '',
  ],
  ['a call without special tokens', 'commentary to=functions.web_search json{"query": "SECRET"}', ''],
];

/** Text for the user, which must not change. */
const PUBLIC = [
  'Hello.',
  'The <think> tag is used by reasoning models.',
  'The <think> tag opens thoughts and </think> closes them.',
  '<think> is a tag.',
  'Tags: "<think>" and "</think>".',
  'Use `<think>` and `</think>` for it.',
  '- `<think>`: opens thoughts\n- `</think>`: closes them',
  'Die <think>-Tags sind wichtig.',
  '```xml\n<think>\nHm.\n</think>\n```\nThat is it.',
  '````md\n```\n<tool_call>\n```\n````',
  '~~~\n<|im_end|>\n~~~',
  '1. First:\n   ```html\n   <reasoning>a</reasoning>\n   ```\n2. Second.',
  'The token `<|im_end|>` ends a message.',
  'Tools answer in `<untrusted id="x">` blocks.',
  'a < b and c > d, x<y, <b>bold</b> and <div class="a">',
  'if (a <b) { return [a, b]; } // <',
  'A [link](https://example.org) and a [T] and [THIS].',
  'Text with ` a stray tick.',
  'An ``odd ` span`` here.',
  '<s>old</s> new',
  'analysis of the data shows',
  'Analysis\n\nThe data.',
  'Here is my plan: first, this.',
  '  indented',
  ' the text continues',
  'a ~ b, ~5 and ~~gone~~',
  'Email <me@example.org>, or <https://example.org>.',
  '| token | use |\n| --- | --- |\n| <pad> | padding |\n| <think> | thoughts |',
  'The words are <pad>, <unk>, and <eos>.',
  'F# uses `x |> f <| y`; 1 <| 2',
  'Ends with <',
  'Ends with <thi',
  'Ends with [TH',
  '```\nnot closed <think>',
  'Use `<tool_call>` there.',
  'The <tool_call> element wraps a call.',
  '✿ flowers ◁ left',
  'Use Promise<Thought> here; and List<Reasoning> there, then Map<String, Thought> x.',
  'const x: Promise<Thought> = load();\nconst y = await x;',
  'private List<Reflection> items = new ArrayList<Reflection>();',
  'The model writes its thoughts first. The tag </think> ends them. Then follows the answer.',
  'Erst die Gedanken. Der Tag </think> beendet sie.',
  'A model writes <think> before its thoughts and </think> after them.',
  'Use **<think>** and **</think>** around it.',
  '- **<think>**: opens\n- **</think>**: closes',
  '模型使用<think>标签开始思考，用</think>标签结束。',
  '特殊标记 <|im_end|> 表示结束。',
  '|Tag|Use|\n|---|---|\n|<think>|opens|\n|</think>|closes|',
  'Tokens:\n- <|im_start|> begins a message\n- <|im_end|> ends it',
  'Llama 2 puts [INST] and [/INST] around a message.',
  '> <think>\n> hm\n> </think>\n\nThat is a quote.',
  'fun <T> think(x: List<Think>): Set<Tool> = setOf()',
  'llama.cpp prints [end of text] there.',
];

describe('what a model writes for its own use', () => {
  it.each(PRIVATE)('does not reach the user: %s', (_name, text, expected) => {
    expect(visible(text)).toBe(expected);
  });

  it.each(PRIVATE)('does not reach the user, one character at a time: %s', (_name, text, expected) => {
    expect(read([...text]).text).toBe(expected);
  });

  it('does not reach the user wherever the text is split', () => {
    fc.assert(
      fc.property(fc.constantFrom(...PRIVATE), fc.array(fc.nat()), ([, text, expected], places) => {
        expect(read(cutAt(text, places)).text).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is kept as thoughts', () => {
    expect(read(['<think>Hm', 'm.</think>\n\nHi'])).toEqual({ text: 'Hi', thoughts: 'Hmm.', calls: [] });
  });
});

describe('what a model writes for the user', () => {
  it.each(PUBLIC)('stays unchanged: %j', (text) => {
    expect(visible(text)).toBe(text);
    expect(read([...text]).text).toBe(text);
  });

  it('stays unchanged wherever it is split', () => {
    fc.assert(
      fc.property(fc.constantFrom(...PUBLIC), fc.array(fc.nat()), (text, places) => {
        expect(read(cutAt(text, places)).text).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });

  it('passes immediately if it has no mark', () => {
    fc.assert(
      fc.property(fc.array(fc.string().filter((part) => !/[<[◁✿`~]/u.test(part))), (parts) => {
        const filter = createPrivateText();
        filter.add('So: ');
        for (const part of parts) expect(filter.add(part)).toEqual(part === '' ? [] : [{ type: 'text', text: part }]);
      }),
    );
  });

  it('stays unchanged in code of any kind', () => {
    fc.assert(
      fc.property(fc.constantFrom(...PRIVATE), fc.array(fc.nat()), ([, text], places) => {
        fc.pre(!/`|^SECRET|^Hm|^HIDDEN|^I use/.test(text));
        const code = `Look:\n\`\`\`\n${text}\n\`\`\`\nDone.`;
        expect(read(cutAt(code, places)).text).toBe(code);
      }),
    );
  });
});
