import type { AgentState } from '@uswarm/contract';

/** The payload of `agent.status`. */
export interface StatusReport {
  agent_id: string;
  status: string;
  conversation_id?: string;
  expires_in_ms?: number;
}

interface Status {
  report: StatusReport;
  /** Monotonic milliseconds at which the status ends; undefined without an end. */
  until: number | undefined;
  /** Sent only after this sequence. */
  afterSeq: number;
  version: number;
}

const ONLINE = 'online';

/** Agent statuses in a workspace. A status with an end changes to `online` by itself. */
export class AgentStatuses {
  /** Allocated by the first status, because most workspaces are idle. */
  #statuses: Map<string, Status> | undefined;
  #version = 0;

  /** Increases with each change. */
  get version(): number {
    return this.#version;
  }

  /** A status that was published before the present one is ignored. */
  report(report: StatusReport, afterSeq: number, now: number): void {
    const present = this.#statuses?.get(report.agent_id);
    if (present !== undefined && afterSeq < present.afterSeq) return;
    const until = report.expires_in_ms === undefined ? undefined : now + report.expires_in_ms;
    this.#set({ report, until, afterSeq });
  }

  /**
   * Replaces all statuses that have not changed since `version` by the ones that the orchestrator has read after it.
   *
   * @returns whether a status changed
   */
  replace(agents: readonly AgentState[], afterSeq: number, version: number, now: number): boolean {
    const before = this.#version;
    const missing = new Set(this.#statuses?.keys());
    for (const { agent_id, status, conversation_id, until_ms } of agents) {
      missing.delete(agent_id);
      const present = this.#statuses?.get(agent_id);
      if (present !== undefined && present.version > version) continue;
      const until = until_ms === null ? undefined : now + until_ms;
      const report = { agent_id, status, ...(conversation_id !== undefined && { conversation_id }) };
      if (present?.report.status === status && (present.until === undefined) === (until === undefined)) {
        present.until = until;
      } else this.#set({ report, until, afterSeq });
    }
    for (const agentId of missing) {
      const present = this.#statuses?.get(agentId);
      if (present !== undefined && present.version <= version) this.#setOnline(present);
    }
    return this.#version > before;
  }

  /** Ends the statuses whose time has passed. @returns whether a status changed */
  expire(now: number): boolean {
    const before = this.#version;
    for (const status of this.#statuses?.values() ?? []) {
      if (status.until !== undefined && status.until <= now) this.#setOnline(status);
    }
    return this.#version > before;
  }

  /** Monotonic milliseconds of the next end. */
  get nextEnd(): number | undefined {
    let next: number | undefined;
    for (const { until } of this.#statuses?.values() ?? []) {
      if (until !== undefined && (next === undefined || until < next)) next = until;
    }
    return next;
  }

  /** True if an agent is anything but `online`. */
  get active(): boolean {
    for (const { report } of this.#statuses?.values() ?? []) if (report.status !== ONLINE) return true;
    return false;
  }

  /**
   * The reports after `version`, up to the first one that a client at this position cannot have yet, with the remaining
   * time.
   */
  changesAfter(version: number, position: number, now: number): { report: StatusReport; version: number }[] {
    if (version >= this.#version) return [];
    const changes = [...(this.#statuses?.values() ?? [])]
      .filter((status) => status.version > version)
      .toSorted((a, b) => a.version - b.version);
    const waiting = changes.findIndex(({ afterSeq }) => afterSeq > position);
    return changes
      .slice(0, waiting === -1 ? undefined : waiting)
      .map(({ report: { expires_in_ms: _, ...report }, until, version: changed }) => ({
        report: { ...report, ...(until !== undefined && { expires_in_ms: remaining(until, now) }) },
        version: changed,
      }));
  }

  /** All statuses but `online`. */
  states(now: number): AgentState[] {
    return [...(this.#statuses?.values() ?? [])]
      .filter(({ report }) => report.status !== ONLINE)
      .map(({ report: { agent_id, status, conversation_id }, until }) => ({
        agent_id,
        status: status as AgentState['status'],
        ...(conversation_id !== undefined && { conversation_id }),
        until_ms: until === undefined ? null : remaining(until, now),
      }));
  }

  clear(): void {
    this.#statuses = undefined;
  }

  #setOnline({ report, afterSeq }: Status): void {
    if (report.status !== ONLINE) {
      const { expires_in_ms: _, ...rest } = report;
      this.#set({ report: { ...rest, status: ONLINE }, until: undefined, afterSeq });
    }
  }

  #set(status: Omit<Status, 'version'>): void {
    this.#version += 1;
    this.#statuses ??= new Map();
    this.#statuses.set(status.report.agent_id, { ...status, version: this.#version });
  }
}

const remaining = (until: number, now: number): number => Math.max(1, Math.ceil(until - now));
