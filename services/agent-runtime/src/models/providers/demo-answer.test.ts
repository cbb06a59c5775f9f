import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { demoMove } from './demo-answer.js';
import { readSearchOutcome, topicOf } from './demo-search.js';
import { createUntrustedBlock } from '../../text/untrusted-block.js';
import type { PromptMessage } from '../port.js';

const SEARCH = 'web_search_tool';
const CARD = 'action_card_tool';
const untrusted = createUntrustedBlock();

const asked = (text: string): PromptMessage => ({ role: 'user', content: [{ type: 'text', text }] });
const result = (toolName: string, value: string, failed = false): PromptMessage => ({
  role: 'tool',
  content: [
    { type: 'tool-result', toolCallId: 'c', toolName, output: { type: failed ? 'error-text' : 'text', value } },
  ],
});
const found = (text: string, failed = false): PromptMessage => result(SEARCH, untrusted(SEARCH, text), failed);
const answerTo = (prompt: PromptMessage[], offered = [SEARCH]): string => {
  const move = demoMove({ prompt, offered });
  return 'answer' in move ? move.answer : `searches for ${String(move.calls[0]?.input['query'])}`;
};

describe('the demo model', () => {
  it.each([
    ['Search the web for the height of Mont Blanc and answer with sources', 'the height of Mont Blanc'],
    ['Search the web for tidal power and answer with sources.', 'tidal power'],
    ['@researcher please search for llamas', 'llamas'],
    ['look up the capital of Peru', 'the capital of Peru'],
    ['Find sources about bees, then reply with the sources', 'bees'],
    ['Which web framework is oldest?', 'Which web framework is oldest?'],
    ['search', 'search'],
  ])('searches for the topic of %j', (text, topic) => {
    expect(topicOf(text)).toBe(topic);
    expect(answerTo([asked(text)])).toBe(`searches for ${topic}`);
  });

  it('repeats any other question, and explains the demo and how to configure a real model', () => {
    fc.assert(
      fc.property(fc.uuid(), (nonce) => {
        const answer = answerTo([asked(`What is ${nonce}?\nSecond line`)]);
        expect(answer).toMatch(/^\[demo\] /);
        expect(answer).toContain(`What is ${nonce}?\nSecond line`);
        expect(answer).toContain('“show me everything”');
        for (const setting of ['OPENAI_BASE_URL', 'OPENAI_API_KEY', 'OPENAI_MODEL']) expect(answer).toContain(setting);
      }),
    );
  });

  it('lists the sources exactly as the tool returned them', () => {
    const results = [
      { title: 'First "quoted"', url: 'https://a.example/?q=1&b=2#c', snippet: 's', engine: 'e' },
      { title: 'Second', url: 'https://b.example/%C3%A9', snippet: '', engine: 'e' },
    ];
    const answer = answerTo([asked('search for x'), found(JSON.stringify({ results }))]);
    expect(answer).toContain(
      '1. First "quoted" - https://a.example/?q=1&b=2#c\n2. Second - https://b.example/%C3%A9\n',
    );
    expect(answer).toMatch(/^\[demo\] /);
  });

  it('reports why a search failed', () => {
    const sentence = 'web_search_tool: searxng endpoint is not configured';
    expect(answerTo([asked('search for x'), found(sentence, true)])).toBe(`[demo] The search failed: ${sentence}`);
  });

  it('reports the notes of the tool if it found nothing', () => {
    const answer = (outcome: unknown): string => answerTo([asked('search for x'), found(JSON.stringify(outcome))]);
    expect(answer({ status: 'empty', results: [], notes: ['No engine found anything.'] })).toBe(
      '[demo] The search found nothing. Notes: No engine found anything.',
    );
    expect(answer({ status: 'upstream_failed', results: [], notes: ['No engine answered.'] })).toBe(
      '[demo] The search failed: No engine answered.',
    );
    expect(answer({ results: [] })).toBe('[demo] The search found nothing. Notes: {"results":[]}');
  });

  it('reports that the search tool is not available', () => {
    expect(answerTo([asked('search for x')], [])).toContain('web_search_tool is not available to this agent');
  });

  it('answers a new question after an earlier search', () => {
    expect(answerTo([asked('search for x'), found('{"results":[]}'), asked('and you?')])).toContain(
      'You asked: and you?',
    );
  });

  describe('when asked for options', () => {
    it.each(['Give me some options', 'What are my choices?', 'Show an action card', 'offer an action_card'])(
      'offers a card: %s',
      (question) => {
        expect(demoMove({ prompt: [asked(question)], offered: [SEARCH, CARD] })).toMatchObject({
          calls: [{ tool: 'action_card_tool', input: { title: expect.any(String), actions: [{}, {}, {}] } }],
        });
      },
    );

    it('asks the user to choose and continues after the choice', () => {
      const shown = result(CARD, 'Shown.');
      expect(answerTo([asked('options'), shown], [CARD])).toBe('[demo] Please choose.');
      expect(answerTo([asked('options'), shown, asked('Continue')], [CARD])).toContain('You asked: Continue');
    });

    it('answers if it has no card tool', () => {
      expect(answerTo([asked('Give me some options')])).toContain('You asked: Give me some options');
    });
  });

  it('repeats only what follows the context block of the prompt', () => {
    expect(answerTo([asked('<context>\nIt is Monday.\n</context>\n\nHello')])).toContain('You asked: Hello\n');
  });

  it('finds no sources in text that is not a search result', () => {
    for (const text of [
      'no json',
      '[]',
      'null',
      '7',
      '{"results":{},"notes":3}',
      '{"results":[{"title":1}],"notes":[4]}',
    ]) {
      expect(readSearchOutcome(text)).toEqual({ failed: false, sources: [], notes: [] });
    }
  });
});
