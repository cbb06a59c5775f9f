import { describe, expect, it } from '@jest/globals';
import { AgentStatuses } from './agent-statuses.js';

const shown = (statuses: AgentStatuses, version = 0, position = 100, now = 0) =>
  statuses.changesAfter(version, position, now).map(({ report }) => report);

describe('the statuses of a hub', () => {
  it('are sent with the time that remains', () => {
    const statuses = new AgentStatuses();
    statuses.report({ agent_id: 'a', status: 'writing', expires_in_ms: 1_000 }, 0, 500);
    expect(shown(statuses, 0, 0, 900)).toEqual([{ agent_id: 'a', status: 'writing', expires_in_ms: 600 }]);
    expect(statuses.states(900)).toEqual([{ agent_id: 'a', status: 'writing', until_ms: 600 }]);
  });

  it('change to online by themselves', () => {
    const statuses = new AgentStatuses();
    statuses.report({ agent_id: 'a', status: 'writing', expires_in_ms: 1_000 }, 0, 0);
    statuses.report({ agent_id: 'b', status: 'offline' }, 0, 0);
    expect(statuses.nextEnd).toBe(1_000);
    expect(statuses.expire(999)).toBe(false);
    const { version } = statuses;
    expect(statuses.expire(1_000)).toBe(true);
    expect(shown(statuses, version)).toEqual([{ agent_id: 'a', status: 'online' }]);
    expect(statuses.states(1_000)).toEqual([{ agent_id: 'b', status: 'offline', until_ms: null }]);
    expect(statuses.nextEnd).toBeUndefined();
  });

  it('wait for the event that they follow', () => {
    const statuses = new AgentStatuses();
    statuses.report({ agent_id: 'a', status: 'writing' }, 5, 0);
    expect(shown(statuses, 0, 4)).toEqual([]);
    expect(shown(statuses, 0, 5)).toHaveLength(1);
  });

  it('wait for a status that changed before and is not sent yet, so that the version of the last one covers all', () => {
    const statuses = new AgentStatuses();
    statuses.report({ agent_id: 'a', status: 'writing' }, 5, 0);
    statuses.report({ agent_id: 'b', status: 'online' }, 4, 0);
    expect(shown(statuses, 0, 4)).toEqual([]);
    expect(shown(statuses, 0, 5).map(({ agent_id }) => agent_id)).toEqual(['a', 'b']);
  });

  it('are not replaced by one that was published before', () => {
    const statuses = new AgentStatuses();
    statuses.report({ agent_id: 'a', status: 'online' }, 6, 0);
    statuses.report({ agent_id: 'a', status: 'writing' }, 5, 0);
    expect(shown(statuses)).toEqual([{ agent_id: 'a', status: 'online' }]);
  });

  it('are replaced by those that the orchestrator has, except for later ones', () => {
    const statuses = new AgentStatuses();
    for (const agent_id of ['ended', 'same', 'changed']) statuses.report({ agent_id, status: 'writing' }, 1, 0);
    const { version } = statuses;
    statuses.report({ agent_id: 'later', status: 'thinking' }, 2, 0);
    const agents = [
      { agent_id: 'same', status: 'writing', until_ms: null },
      { agent_id: 'changed', status: 'error', until_ms: 10 },
      { agent_id: 'new', status: 'pending', until_ms: null },
    ] as const;
    expect(statuses.replace(agents, 2, version, 0)).toBe(true);
    const changes = shown(statuses, version).map(({ agent_id, status }) => [agent_id, status]);
    expect(changes).toEqual([
      ['later', 'thinking'],
      ['changed', 'error'],
      ['new', 'pending'],
      ['ended', 'online'],
    ]);
    expect(statuses.active).toBe(true);
  });

  it('are each sent once', () => {
    const statuses = new AgentStatuses();
    for (const status of ['reading', 'thinking', 'writing']) statuses.report({ agent_id: 'a', status }, 1, 0);
    const [last, ...others] = statuses.changesAfter(0, 1, 0);
    expect({ last: last?.report.status, others }).toEqual({ last: 'writing', others: [] });
    expect(shown(statuses, last?.version)).toEqual([]);
  });
});
