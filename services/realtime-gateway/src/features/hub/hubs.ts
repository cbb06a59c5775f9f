import type { EventBus } from '@uswarm/event-bus';
import { createTaskQueue } from '@uswarm/service-kit';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import { HistoryBudget } from './history-budget.js';
import { Hub, type HubDeps, type HubOptions } from './hub.js';
import { checkPositions } from './position-check.js';

export interface HubsOptions extends HubOptions {
  /** Event bytes that all hubs keep together. */
  historyBytes: number;
  /** Maximum number of concurrent requests from all hubs. */
  concurrentReads: number;
  /** Maximum milliseconds between two checks of all positions. */
  positionCheckMs: number;
}

export interface HubsDeps extends Omit<HubDeps, 'queue' | 'budget' | 'orchestrator' | 'bus' | 'options'> {
  bus: Pick<EventBus, 'subscribe' | 'onReconnect'>;
  orchestrator: Pick<OrchestratorClient, 'events' | 'subscriptions' | 'positions'>;
  options: HubsOptions;
}

/** Usage of a hub. An unused hub is closed. */
export interface HubLease {
  hub: Hub;
  release: () => void;
}

/** This process' hubs, one per workspace with sockets. */
export interface Hubs {
  use(workspaceId: string): HubLease;
  size(): number;
  historyBytes(): number;
  close(): void;
}

export function createHubs(deps: HubsDeps): Hubs {
  const { bus, options } = deps;
  const hubs = new Map<string, { hub: Hub; users: number }>();
  const budget = new HistoryBudget(options.historyBytes);
  const queue = createTaskQueue({ concurrent: options.concurrentReads });
  // One object, because there are many hubs.
  const shared: HubDeps = { ...deps, queue, budget };
  const check = checkPositions({
    ...deps,
    everyMs: options.positionCheckMs,
    hubs: () => [...hubs.values()].map(({ hub }) => hub),
  });
  const stopWatching = bus.onReconnect((workspaceIds) => {
    for (const workspaceId of workspaceIds) hubs.get(workspaceId)?.hub.suspectState();
    check.now();
  });

  return {
    use(workspaceId) {
      const entry = hubs.get(workspaceId) ?? { hub: new Hub(workspaceId, shared), users: 0 };
      hubs.set(workspaceId, entry);
      entry.users += 1;
      let released = false;
      const release = (): void => {
        if (released) return;
        released = true;
        entry.users -= 1;
        if (entry.users > 0) return;
        hubs.delete(workspaceId);
        entry.hub.close();
      };
      return { hub: entry.hub, release };
    },
    size: () => hubs.size,
    historyBytes: () => budget.bytes,
    close() {
      stopWatching();
      check.stop();
      for (const { hub } of hubs.values()) hub.close();
      hubs.clear();
    },
  };
}
