import { describe, expect, it } from '@jest/globals';
import { type AgentRow, agentData, agentSummary } from './agent-view.js';

const NOW = new Date('2026-11-21T10:00:00Z');
const viewContext = { now: NOW, avatar: (slug: string) => `avatar of ${slug}` };
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
  it('has its display role in a summary', () => {
    expect(agentSummary(row, viewContext)).toEqual({ ...shown, role: 'Finds facts' });
  });

  it('has its role in the swarm in a message', () => {
    expect(agentData(row, viewContext)).toEqual({ ...shown, role: 'sub-agent' });
  });

  it('is pending without a runtime', () => {
    const alone = { ...row, phase: null, silent_since: null };
    expect({ summary: agentSummary(alone, viewContext).status, details: agentData(alone, viewContext).status }).toEqual(
      {
        summary: 'pending',
        details: 'busy',
      },
    );
  });

  it('has the avatar of its slug unless it has its own', () => {
    const plain = { ...row, avatar_url: '' };
    expect({ summary: agentSummary(plain, viewContext).avatar, details: agentData(plain, viewContext).avatar }).toEqual(
      {
        summary: 'avatar of researcher',
        details: 'avatar of researcher',
      },
    );
  });
});
