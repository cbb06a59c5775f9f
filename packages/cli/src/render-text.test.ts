import { describe, expect, it } from '@jest/globals';
import type { ListedMessage } from '@uswarm/contract';
import { message, words } from '../test/script.js';
import type { ServerEvent } from './reply.js';
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

describe('the transcript', () => {
  it('shows what the agent does, then the text as it comes, once', () => {
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

  it('shows what was said before in the order in which it happened, whatever the order of the list', () => {
    const said: ListedMessage[] = [
      message({ position: '2b', content: words('The moon.') }),
      message({
        position: '2a3',
        content: { type: 'tool_status', tool: 'web_search_tool', description: 'tides', state: 'completed' },
      }),
      message({ position: '1b', role: 'user', agent: null, content: words('Why?') }),
    ];
    expect(transcript((renderer) => renderer.history(said))).toBe(
      'you: Why?\n· web_search_tool completed: tides\nManager: The moon.\n',
    );
  });

  it('starts the text again with a new generation, even if it is the beginning of the old one', () => {
    const text = transcript((renderer) => {
      renderer.streamed(streamed('The moon'));
      renderer.streamed(streamed('The', 2));
      renderer.streamed(streamed('The sun', 2));
    });
    expect(text).toBe('Manager: The moon\n· the reply starts again\nManager: The sun');
  });

  it('shows the final text when it is not what was streamed', () => {
    const text = transcript((renderer) => {
      renderer.streamed(streamed('The moo'));
      renderer.answered({ agentId: manager, text: 'The sun.', outcome: 'delivered' });
    });
    expect(text).toBe('Manager: The moo\n· the final text:\nManager: The sun.\n');
  });

  it('shows the rest when the end was not streamed, and all when nothing was', () => {
    const answer = { agentId: manager, text: 'The moon.', outcome: 'delivered' } as const;
    const afterSome = transcript((renderer) => {
      renderer.streamed(streamed('The'));
      renderer.answered(answer);
    });
    expect(afterSome).toBe('Manager: The moon.\n');
    expect(transcript((renderer) => renderer.answered(answer))).toBe('Manager: The moon.\n');
  });

  it('goes on after a line in between', () => {
    const text = transcript((renderer) => {
      renderer.streamed(streamed('The '));
      renderer.note('connection lost');
      renderer.streamed(streamed('The moon'));
    });
    expect(text).toBe('Manager: The \n· connection lost\nmoon');
  });

  it('says that a reply failed', () => {
    const text = transcript((renderer) => renderer.answered({ agentId: manager, text: '', outcome: 'failed' }));
    expect(text).toBe('The reply failed.\n');
  });

  it('shows agents only while a reply is waited for', () => {
    const text = transcript((renderer) => {
      renderer.event(status('online'));
      renderer.sent(question);
      renderer.answered({ agentId: manager, text: 'x', outcome: 'delivered' });
      renderer.event(status('online'));
    });
    expect(text).toBe('Manager: x\n');
  });

  it('colours only when told to', () => {
    const play = (renderer: Renderer) => renderer.note('hello');
    expect(transcript(play)).toBe('· hello\n');
    expect(transcript(play, true)).toBe('\u001b[2m· hello\u001b[22m\n');
  });
});

describe('what reaches the terminal', () => {
  it('holds no control characters but tabs and line breaks', () => {
    expect(printable('a\u001b[31mb\u0007\u009bc\r\n\td')).toBe('a[31mbc\n\td');
  });

  it.each([
    [{ isTTY: true }, {}, true],
    [{ isTTY: true }, { NO_COLOR: '' }, true],
    [{ isTTY: true }, { NO_COLOR: '1' }, false],
    [{}, {}, false],
  ])('is coloured on a terminal without NO_COLOR: %j %j', (stream, env, expected) => {
    expect(wantsColour(stream, env)).toBe(expected);
  });
});
