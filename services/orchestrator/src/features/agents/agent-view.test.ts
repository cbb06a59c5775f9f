import { describe, expect, it } from '@jest/globals';
import { type AgentRow, agentData, agentSummary } from './agent-view.js';

const NOW = new Date('2026-11-21T10:00:00Z');
const showing = { now: NOW, avatar: (slug: string) => `avatar of ${slug}` };
const row: AgentRow = {
  id: 'a',
  name: 'Researcher',
  role: 'Finds facts',
  kind: 'sub-agent',
  slug: 'researcher',
  avatar_url: 'https://example.com/a.png',
  activity: 'thinking',
  phase: 'Ready',
  silent_since: null,
};
const shown = { id: 'a', name: 'Researcher', slug: 'researcher', avatar: 'https://example.com/a.png', status: 'busy' };

describe('an agent', () => {
  it('in a summary has the role that people read', () => {
    expect(agentSummary(row, showing)).toEqual({ ...shown, role: 'Finds facts' });
  });

  it('in a message has the role of the swarm', () => {
    expect(agentData(row, showing)).toEqual({ ...shown, role: 'sub-agent' });
  });

  it('without a runtime is pending', () => {
    const alone = { ...row, phase: null, silent_since: null };
    expect([agentSummary(alone, showing).status, agentData(alone, showing).status]).toEqual(['pending', 'busy']);
  });

  it('shows the avatar of its slug unless it has its own', () => {
    const plain = { ...row, avatar_url: '' };
    expect([agentSummary(plain, showing).avatar, agentData(plain, showing).avatar]).toEqual([
      'avatar of researcher',
      'avatar of researcher',
    ]);
  });
});
