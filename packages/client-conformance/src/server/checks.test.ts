import { describe, expect, it } from '@jest/globals';
import { clientEventProblem, laterEvent, serverEvent, unknownEvent, withLaterCode } from './checks.js';
import { World } from './world.js';

const created = () => {
  const world = new World();
  const message = world.agent('one');
  return serverEvent('message.new', { workspace_id: world.workspaceId, seq: 41, message });
};
interface Payload {
  seq: number;
  message: Record<string, unknown>;
}

describe('an event of the scripted server', () => {
  it('is refused if the contract does not allow it', () => {
    expect(() => serverEvent('message.new', { seq: 41 })).toThrow('is not the documented one');
  });

  it('may have fields and values of a later release', () => {
    const later = laterEvent(created(), ({ message }: Payload) => {
      Object.assign(message, { reactions: [], role: 'robot' });
    });
    expect(later.payload).toMatchObject({ message: { reactions: [], role: 'robot' } });
  });

  it.each([
    ['another text', ({ message }: Payload) => void (message['content'] = { type: 'text', text: 'two' })],
    ['a missing field', ({ message }: Payload) => void delete message['position']],
    ['a numeric status', ({ message }: Payload) => void (message['status'] = 7)],
  ])('does not become one of a later release by %s', (_what, change) => {
    expect(() => laterEvent(created(), change as never)).toThrow('A later release does not change');
  });

  it('is not unknown if the contract has it', () => {
    expect(() => unknownEvent('message.new', {})).toThrow('is documented');
  });
});

describe('an error code of a later release', () => {
  it('is not one of this release', () => {
    expect(() => withLaterCode({ code: 'rate_limited' }, 'token_expired')).toThrow('is documented');
  });
});

describe('an event of the client', () => {
  it.each([
    ['message.send', { local_id: 'a' }, /invalid message\.send/],
    ['message.like', {}, /does not exist/],
  ])('%s has a problem', (name, payload, problem) => {
    expect(clientEventProblem(name, payload)).toMatch(problem);
  });
});
