import { describe, expect, it } from '@jest/globals';
import type { ModelServerRequest, ModelStep } from '@uswarm/dev-servers';
import type { ScriptTurn } from '../tasks/task.js';
import { createScriptedModel } from './scripted-model.js';

type Message = ModelServerRequest['messages'][number];
const CONTEXT = `The user's name is "Ada run-a1".`;
const user = (text: string): Message => ({ role: 'user', content: `<context>${CONTEXT}</context>\n\n${text}` });
const called: Message = { role: 'assistant', content: '' };
const result = (content: string): Message => ({ role: 'tool', content });

/** How a model with this script reacts to a prompt. */
function modelWith(turns: ScriptTurn[]) {
  const model = createScriptedModel();
  model.add('run-a1', turns);
  const ask = (messages: Message[], agent = 'manager'): readonly ModelStep[] => {
    const system: Message = { role: 'system', content: `You are X (@${agent}), a member of a swarm.` };
    const request = { model: 'm', messages: [system, ...messages] } as ModelServerRequest;
    return model.script(request, 0, { protocol: 'openai', body: request, raw: {}, authorization: undefined });
  };
  return { model, ask };
}
const turn = (steps: ScriptTurn['steps'], agent = 'manager', on?: string): ScriptTurn => ({ agent, steps, on });

describe('the scripted model', () => {
  it('does the steps of a turn in order, then only answers "Done."', () => {
    const { ask } = modelWith([turn([{ call: { recall: { query: 'tea' } } }, { say: 'Green tea.' }])]);
    const asked = user('Which tea?');
    expect(ask([asked])).toEqual([{ toolCalls: [{ name: 'recall', arguments: { query: 'tea' } }] }]);
    expect(ask([asked, called, result('tea')])).toEqual([{ text: 'Green ' }, { text: 'tea.' }]);
    expect(ask([asked, called, result('tea'), called, result('')])).toEqual([{ text: 'Done.' }]);
    expect(ask([asked, called, user('Thanks.')])).toEqual([{ text: 'Done.' }]);
  });

  it('has the turns of each agent in order, or for a message', () => {
    const { ask } = modelWith([
      turn([{ say: 'C' }], 'coder'),
      turn([{ say: 'E' }], 'manager', 'Evening'),
      turn([{ say: 'M' }]),
    ]);
    expect(ask([user('Morning')])).toEqual([{ text: 'M' }]);
    expect(ask([user('Evening')])).toEqual([{ text: 'E' }]);
    expect(ask([user('Morning')], 'coder')).toEqual([{ text: 'C' }]);
  });

  it('takes the next turn when the same prompt begins again', () => {
    const { ask } = modelWith([turn([{ say: '1' }]), turn([{ say: '2' }])]);
    expect([ask([user('Hi')]), ask([user('Hi')])]).toEqual([[{ text: '1' }], [{ text: '2' }]]);
  });

  it('fills in what it has read', () => {
    const { ask, model } = modelWith([
      turn([{ call: { forget: { key: '{{key":"(\\w+)}}' } } }]),
      turn([{ say: '{{no (x)}}' }]),
    ]);
    const asked = user('{"key":"old"} {"key":"tea"}');
    expect(ask([asked])).toEqual([{ toolCalls: [{ name: 'forget', arguments: { key: 'tea' } }] }]);
    expect(ask([user('Bye')])).toEqual([
      { error: { status: 400, message: 'nothing in the prompt matches {{no (x)}}' } },
    ]);
    expect(model.problems('run-a1')).toEqual(['nothing in the prompt matches {{no (x)}}']);
  });

  it('waits after the first word if the user acts then', () => {
    const { ask, model } = modelWith([turn([{ say: 'One two.', hold: true }])]);
    const [hold] = model.holds('run-a1');
    expect(ask([user('Count')])).toEqual([{ text: 'One ' }, { hold }, { text: 'two.' }]);
  });
});
