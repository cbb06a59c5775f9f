import { describe, expect, it } from '@jest/globals';
import type { MessageContent } from '@uswarm/contract';
import { id, textContent } from '../test/script.js';
import {
  chunk,
  created,
  deleted,
  ended,
  loading,
  status,
  tool,
  transcript,
  turn,
  updated,
  writer,
} from '../test/transcript.js';

describe('the replies in a transcript', () => {
  it('shows the activity of the agent, then each streamed text once', () => {
    const text = transcript(
      turn(
        status('thinking'),
        loading,
        tool({ query: 'tides' }),
        tool({ status: 'done', outcome: 'failed' }),
        chunk('The moon', 1),
        chunk('.\n[1] http://a.example', 2),
        ...ended('The moon.\n[1] http://a.example', 'delivered'),
      ),
    );
    expect(text).toBe(
      '· Manager is thinking\n· Manager uses web_search_tool: tides\n· web_search_tool failed\n' +
        'Manager: The moon.\n[1] http://a.example\n',
    );
  });

  it('restarts the text for a new generation, even if it is a prefix of the old text', () => {
    const text = transcript(
      turn(loading, chunk('The moon', 1), chunk('The', 1, { generation: 2 }), chunk(' sun', 2, { generation: 2 })),
    );
    expect(text).toBe('Manager: The moon\n· the answer restarts\nManager: The sun');
  });

  it('shows the final text if it differs from the streamed text', () => {
    const text = transcript(turn(loading, chunk('The moo', 1), ...ended('The sun.', 'delivered')));
    expect(text).toBe('Manager: The moo\n· final text:\nManager: The sun.\n');
  });

  it('completes a partially streamed answer, and shows an answer that was not streamed', () => {
    const end = ended('The moon.', 'delivered');
    expect(transcript(turn(loading, chunk('The', 1), ...end))).toBe('Manager: The moon.\n');
    expect(transcript(turn(loading, ...end))).toBe('Manager: The moon.\n');
  });

  it('does not interrupt an answer with the activity of agents', () => {
    const text = transcript(turn(loading, chunk('The ', 1), status('thinking', writer.id), chunk('moon', 2)));
    expect(text).toBe('Manager: The moon');
  });

  it('shows a search once, whether its message or its event comes first', () => {
    const message = (state: 'running' | 'completed') =>
      ({ type: 'tool_status', tool: 'web_search_tool', description: 'Searching', state }) as const;
    const events = [tool({ query: 'tea' }), tool({ status: 'done', outcome: 'completed', query: 'tea' })] as const;
    const text = transcript(
      turn(created(30, message('running')), events[0], updated(30, message('completed')), events[1]),
    );
    expect(text).toBe('· Manager uses web_search_tool: tea\n· web_search_tool completed: tea\n');
  });

  it('continues the answer after a note', () => {
    const text = transcript((renderer) => {
      turn(loading, chunk('The ', 1))(renderer);
      renderer.note('connection lost');
      renderer.event(chunk('moon', 2));
    });
    expect(text).toBe('Manager: The \n· connection lost\nmoon');
  });

  it('shows replies that are streamed at the same time one after the other', () => {
    const second = created(12, { type: 'loading' }, { status: 'pending', agent: writer });
    const text = transcript(
      turn(
        loading,
        second,
        chunk('One', 1),
        chunk('Two', 1, { last: 12 }),
        ...ended('Two.', 'delivered', null, 12),
        chunk(' more', 2),
        ...ended('One more.', 'delivered'),
      ),
    );
    expect(text).toBe('Manager: One more.\nWriter: Two.\n');
  });

  it.each([
    [
      'failed',
      'No.',
      { code: 'model_timeout', retryable: true, message: 'It was slow.' },
      'Manager: No.\nThe turn failed: It was slow. (model_timeout)\n',
    ],
    [
      'failed',
      'It was slow.',
      { code: 'model_timeout', retryable: true, message: 'It was slow.' },
      'Manager: It was slow.\nThe turn failed (model_timeout).\n',
    ],
    ['failed', '', null, 'The turn failed.\n'],
    [
      'incomplete',
      'Half',
      { code: 'output_limit_reached', retryable: true, message: 'Too long.' },
      'Manager: Half\nThe answer is incomplete: Too long. (output_limit_reached)\n',
    ],
    ['silent', 'Manager has nothing to add for now.', null, '· Manager stays silent\n'],
    // As older servers send it.
    ['silent', '', null, '· Manager stays silent\n'],
    ['delegated', 'Manager hands over.', null, '· Manager hands over\n'],
    ['delegated', 'Writer?', null, 'Manager: Writer?\n· Manager hands over\n'],
  ] as const)('shows how a reply ended: %s %j', (value, text, error, expected) => {
    expect(transcript(turn(loading, ...ended(text, value, error)))).toBe(expected);
  });

  it('does not call an agent silent that has shown something else', () => {
    const card: MessageContent = {
      type: 'action_card',
      title: 'Which?',
      description: '',
      actions: [{ id: 'a', label: 'A', style: 'primary' }],
    };
    expect(transcript(turn(loading, created(30, card), ...ended('', 'silent')))).not.toContain('silent');
  });

  it('shows a card that takes the place of an answer once, and nothing of the answer', () => {
    const card: MessageContent = { type: 'action_card', title: 'Which?', description: '', actions: [] };
    const text = transcript(turn(loading, updated(11, card), updated(11, card)));
    expect(text).toBe('✗ Which? This card can no longer be chosen.\n');
  });

  it('shows that an answer was deleted', () => {
    expect(transcript(turn(loading, chunk('The', 1), deleted(id(11)), chunk('moon', 2)))).toBe(
      'Manager: The\n· the answer was deleted\n',
    );
  });

  it('shows the activity of agents and streams text only during a turn', () => {
    const text = transcript((renderer) => {
      renderer.event(status('online'));
      turn(loading, ...ended('x', 'delivered'))(renderer);
      renderer.settled('delivered');
      renderer.event(status('online'));
      renderer.event(created(12, { type: 'loading' }, { status: 'pending' }));
      renderer.event(chunk('Later', 1, { last: 12 }));
      for (const one of ended('Later.', 'delivered', null, 12)) renderer.event(one);
    });
    expect(text).toBe('Manager: x\nManager: Later.\n');
  });

  it('shows messages that the user sent elsewhere, and not those of this chat', () => {
    const user = { role: 'user', agent: null } as const;
    const text = transcript(
      turn(
        created(1, textContent('Why?'), { ...user, local_id: 'l' }),
        created(2, textContent('And\u001b[2J why?'), { ...user, local_id: 'phone' }),
        updated(2, textContent('And why?'), { ...user, local_id: 'phone' }),
      ),
    );
    expect(text).toBe('you: And[2J why?\n');
  });

  it('ignores other conversations', () => {
    expect(transcript(turn(created(30, textContent('x'), { conversation_id: id(99), role: 'user' })))).toBe('');
  });
});
