import { describe, expect, it } from '@jest/globals';
import { AgentRouteStatus, AgentStatus, type AgentDataStatus } from '@uswarm/contract';
import type { AgentActivity, InternalPhase } from '../platform/database/schema.js';
import { agentDataStatus, agentRouteStatus, agentStatus, viewRuntime } from './runtime-view.js';

const NOW = new Date('2026-11-21T10:00:00Z');
const ago = (ms: number): Date => new Date(NOW.getTime() - ms);
const runtime = (phase: InternalPhase, silentSince: Date | null = null) => ({ phase, silentSince });

describe('viewRuntime', () => {
  it.each<[InternalPhase, string, string]>([
    ['Pending', 'provisioning', 'Pending'],
    ['Progressing', 'provisioning', 'Progressing'],
    ['Ready', 'ready', 'Ready'],
    ['Suspended', 'offline', 'Pending'],
    ['Error', 'failed', 'Error'],
    ['Deleting', 'offline', 'Pending'],
  ])('shows %s as status %s in phase %s', (phase, status, shown) => {
    expect(viewRuntime(runtime(phase), NOW)).toEqual({ status, phase: shown });
  });

  it.each([
    [59_999, 'ready'],
    [60_000, 'ready'],
    [60_001, 'offline'],
  ])('shows a Ready runtime without a response for %d ms as %s in phase Ready', (ms, status) => {
    expect(viewRuntime(runtime('Ready', ago(ms)), NOW)).toEqual({ status, phase: 'Ready' });
  });

  it.each<InternalPhase>(['Pending', 'Progressing', 'Error'])(
    'shows %s regardless of the time without a response',
    (phase) => {
      expect(viewRuntime(runtime(phase, ago(3_600_000)), NOW)).toEqual(viewRuntime(runtime(phase), NOW));
    },
  );
});

describe('agentStatus', () => {
  it.each<AgentActivity>(['online', 'reading', 'thinking', 'writing', 'pending', 'error'])(
    'is the activity %s while the runtime is ready',
    (activity) => {
      expect(agentStatus(activity, runtime('Ready'), NOW)).toBe(activity);
    },
  );

  it.each<[InternalPhase, AgentStatus]>([
    ['Pending', 'pending'],
    ['Progressing', 'pending'],
    ['Suspended', 'offline'],
    ['Deleting', 'offline'],
    ['Error', 'error'],
  ])('is derived from phase %s as %s regardless of the activity', (phase, status) => {
    expect(agentStatus('writing', runtime(phase), NOW)).toBe(status);
  });

  it('is offline if the Ready runtime does not respond', () => {
    expect(agentStatus('online', runtime('Ready', ago(60_001)), NOW)).toBe('offline');
  });
});

describe('the statuses of agent routes and messages', () => {
  it.each<[AgentStatus, AgentRouteStatus, AgentDataStatus]>([
    ['online', 'online', 'online'],
    ['reading', 'busy', 'busy'],
    ['thinking', 'busy', 'busy'],
    ['writing', 'busy', 'busy'],
    ['pending', 'pending', 'busy'],
    ['error', 'error', 'offline'],
    ['offline', 'offline', 'offline'],
  ])('map %s to %s in agent routes and to %s in messages', (status, route, data) => {
    expect({ route: agentRouteStatus(status), data: agentDataStatus(status) }).toEqual({ route, data });
  });

  it('ENUM-020: agent routes return no status that exists only in realtime events', () => {
    const shown = AgentStatus.options.map(agentRouteStatus);
    expect(shown.filter((status) => !AgentRouteStatus.options.includes(status))).toEqual([]);
  });
});
