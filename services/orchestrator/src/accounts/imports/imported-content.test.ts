import { describe, expect, it } from '@jest/globals';
import { MessageContent } from '@uswarm/contract';
import { createSafeMarkdown } from '../../turns/content/reply-text.js';
import { importedId } from './imported-id.js';
import { importedContent, importedStatus } from './imported-content.js';

const to = { id: (old: string) => importedId('import', old), markdown: createSafeMarkdown('https://uswarm.example') };
const EVIL = 'a\u202Eb ![x](https://evil.example/?q=1)';
const SAFE = /^ab (?!!\[x\]\(https)/;
const agent = {
  id: '01931a5e-7c00-7000-8000-000000000001',
  name: EVIL,
  role: 'manager' as const,
  slug: 'a\u202E',
  avatar: 'javascript:alert(1)',
  status: 'online' as const,
};
const card = {
  type: 'action_card' as const,
  title: EVIL,
  description: EVIL,
  actions: [{ id: 'yes', label: EVIL, style: 'primary' as const }],
};

const imported = (role: 'user' | 'agent' | 'system', content: MessageContent): MessageContent => {
  const stored = importedContent(to, { role, content, status: 'delivered', error_code: null });
  return MessageContent.parse(stored);
};
/** All texts that clients show. */
function texts(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(texts) : [];
}

describe('the content of an imported message', () => {
  it.each<[MessageContent]>([
    [{ type: 'text', text: EVIL }],
    [card],
    [{ type: 'tool_status', tool: 'web_search_tool', description: EVIL, state: 'completed' }],
    [{ type: 'delegation', from: agent, to: agent, status: 'completed', task_preview: EVIL }],
    [
      {
        type: 'artifact',
        artifact_id: 'd',
        title: EVIL,
        version: 1,
        status: 'final',
        agent_slug: 'a',
        content_preview: EVIL,
      },
    ],
  ])('has no images, hidden links and reordered text: %j', (content) => {
    const shown = texts(imported('agent', content));
    expect(shown.filter((text) => SAFE.test(text)).length).toBe(texts(content).filter((text) => text === EVIL).length);
    expect(shown.join()).not.toMatch(/\u202E|javascript/);
  });

  it('is cleaned in a note of the platform, and not in what a user has written', () => {
    expect(imported('system', { type: 'system', text: 'a\u202Eb' })).toEqual({ type: 'system', text: 'ab' });
    expect(imported('user', { type: 'text', text: EVIL })).toEqual({ type: 'text', text: EVIL });
  });

  it.each<['user' | 'agent' | 'system', MessageContent]>([
    ['user', card],
    ['user', { type: 'system', text: 'x' }],
    ['agent', { type: 'system', text: 'x' }],
    ['system', { type: 'text', text: 'x' }],
  ])('is refused if this role never has it: %s %j', (role, content) => {
    expect(() => imported(role, content)).toThrow(expect.objectContaining({ problem: 'rows_invalid' }));
  });

  it('has no address to open', () => {
    expect(imported('agent', { ...card, open_url: 'data:text/html,x' })).not.toHaveProperty('open_url');
  });

  it('has nothing that runs', () => {
    const step = {
      step_id: 's',
      name: 'S',
      status: 'running' as const,
      agent_slug: 'a',
      started_at: null,
      finished_at: null,
    };
    const shown = [
      imported('agent', { type: 'tool_status', tool: 't', description: '', state: 'running' }),
      imported('agent', { type: 'delegation', status: 'running', task_preview: '' }),
      imported('agent', {
        type: 'workflow',
        workflow_id: 'w',
        workflow_name: 'W',
        execution_id: 'w',
        status: 'running',
        steps: [step, { ...step, status: 'pending' }, { ...step, status: 'completed' }],
      }),
    ];
    expect(shown).toMatchObject([
      { state: 'failed' },
      { status: 'failed' },
      { status: 'failed', steps: [{ status: 'failed' }, { status: 'failed' }, { status: 'completed' }] },
    ]);
  });
});

describe('the status of an imported message', () => {
  const status = (content: MessageContent, more: object = {}) =>
    importedStatus({ role: 'agent', content, status: 'delivered', error_code: null, ...more });

  it('closes cards without a choice', () => {
    expect(status(card)).toEqual({ status: 'failed', error_code: 'runtime_lost' });
    expect(status({ ...card, selected_action_id: 'yes' })).toEqual({ status: 'delivered', error_code: null });
  });

  it('ends an answer that was being written', () => {
    const pending = status({ type: 'text', text: 'The' }, { status: 'pending' });
    expect(pending).toEqual({ status: 'incomplete', error_code: 'runtime_lost' });
  });
});
