import { describe, expect, it } from '@jest/globals';
import type { ListedMessage } from '@uswarm/contract';
import { message, textContent } from '../test/script.js';
import type { ServerEvent } from './turn.js';
import { createTextRenderer, printable, wantsColour } from './render-text.js';
import type { Renderer } from './renderer.js';

const manager = '0192d3a4-0000-7000-8000-000000000020';
const question = {
  workspace_id: 'w',
  conversation_id: 'c',
  local_id: 'l',
  content: { type: 'text', text: 'Why?' },
  mentions: [],
  attachments: [],
};

function transcript(play: (renderer: Renderer) => void, colour = false): string {
  let written = '';
  const agentName = (id: string | undefined) => (id === manager ? 'Manager' : 'agent');
  play(createTextRenderer({ out: { write: (text) => void (written += text) }, colour, agentName }));
  return written;
}

const status = (value: 'thinking' | 'online'): ServerEvent => ({
  name: 'agent.status',
  payload: { workspace_id: manager, agent_id: manager, status: value },
});
const tool = (payload: object): ServerEvent => ({
  name: 'agent.tool',
  payload: {
    workspace_id: manager,
    agent_id: manager,
    conversation_id: manager,
    tool: 'web_search_tool',
    status: 'running',
    ...payload,
  },
});
const streamed = (text: string, generation = 1) => ({ agentId: manager, generation, text });

describe('the transcript of a chat', () => {
  it('shows the activity of the agent, then each streamed text once', () => {
    const text = transcript((renderer) => {
      renderer.sent(question);
      renderer.event(status('thinking'));
      renderer.event(tool({ query: 'tides' }));
      renderer.event(tool({ status: 'done', outcome: 'failed' }));
      renderer.streamed(streamed('The moon'));
      renderer.streamed(streamed('The moon.\n[1] http://a.example'));
      renderer.answered({ agentId: manager, text: 'The moon.\n[1] http://a.example', outcome: 'delivered' });
    });
    expect(text).toBe(
      '· Manager is thinking\n· Manager uses web_search_tool: tides\n· web_search_tool failed\n' +
        'Manager: The moon.\n[1] http://a.example\n',
    );
  });

  it('shows earlier messages by position, independent of the order of the list', () => {
    const earlier: ListedMessage[] = [
      message({ position: '2b', content: textContent('The moon.') }),
      message({
        position: '2a3',
        content: { type: 'tool_status', tool: 'web_search_tool', description: 'tides', state: 'completed' },
      }),
      message({ position: '1b', role: 'user', agent: null, content: textContent('Why?') }),
    ];
    expect(transcript((renderer) => renderer.history(earlier))).toBe(
      'you: Why?\n· web_search_tool completed: tides\nManager: The moon.\n',
    );
  });

  it('restarts the text for a new generation, even if it is a prefix of the old text', () => {
    const text = transcript((renderer) => {
      renderer.streamed(streamed('The moon'));
      renderer.streamed(streamed('The', 2));
      renderer.streamed(streamed('The sun', 2));
    });
    expect(text).toBe('Manager: The moon\n· the answer restarts\nManager: The sun');
  });

  it('shows the final text if it differs from the streamed text', () => {
    const text = transcript((renderer) => {
      renderer.streamed(streamed('The moo'));
      renderer.answered({ agentId: manager, text: 'The sun.', outcome: 'delivered' });
    });
    expect(text).toBe('Manager: The moo\n· final text:\nManager: The sun.\n');
  });

  it('completes a partially streamed answer, and shows an answer that was not streamed', () => {
    const answer = { agentId: manager, text: 'The moon.', outcome: 'delivered' } as const;
    const afterSome = transcript((renderer) => {
      renderer.streamed(streamed('The'));
      renderer.answered(answer);
    });
    expect(afterSome).toBe('Manager: The moon.\n');
    expect(transcript((renderer) => renderer.answered(answer))).toBe('Manager: The moon.\n');
  });

  it('continues the answer after a note', () => {
    const text = transcript((renderer) => {
      renderer.streamed(streamed('The '));
      renderer.note('connection lost');
      renderer.streamed(streamed('The moon'));
    });
    expect(text).toBe('Manager: The \n· connection lost\nmoon');
  });

  it('shows that a turn failed', () => {
    const text = transcript((renderer) => renderer.answered({ agentId: manager, text: '', outcome: 'failed' }));
    expect(text).toBe('The turn failed.\n');
  });

  it('shows the activity of agents only during a turn', () => {
    const text = transcript((renderer) => {
      renderer.event(status('online'));
      renderer.sent(question);
      renderer.answered({ agentId: manager, text: 'x', outcome: 'delivered' });
      renderer.event(status('online'));
    });
    expect(text).toBe('Manager: x\n');
  });

  it('uses colours only if they are enabled', () => {
    const play = (renderer: Renderer) => renderer.note('hello');
    expect(transcript(play)).toBe('· hello\n');
    expect(transcript(play, true)).toBe('\u001b[2m· hello\u001b[22m\n');
  });
});

describe('the terminal output', () => {
  it('contains no control characters except tabs and line breaks', () => {
    expect(printable('a\u001b[31mb\u0007\u009bc\r\n\td')).toBe('a[31mbc\n\td');
  });

  it.each([
    [{ isTTY: true }, {}, true],
    [{ isTTY: true }, { NO_COLOR: '' }, true],
    [{ isTTY: true }, { NO_COLOR: '1' }, false],
    [{}, {}, false],
  ])('is coloured only on a terminal without NO_COLOR: %j %j', (stream, env, expected) => {
    expect(wantsColour(stream, env)).toBe(expected);
  });
});
