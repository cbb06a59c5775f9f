import { type AdminServerTool, ApiError } from '@uswarm/contract';
import type { Listing } from './listing.js';
import type { ToolReview } from './tool-review.js';
import type { ToolServer } from './tool-servers-file.js';

export interface OperatorReviewDeps {
  /** With shared accounts. */
  servers: readonly ToolServer[];
  refreshAll: Listing['refreshAll'];
  review: ToolReview;
}

/** Operators manage tools with shared accounts. */
export interface OperatorReview {
  /** As the servers list them now. */
  list(): Promise<AdminServerTool[]>;
  /** @throws ApiError `tool_not_found`, also for an unknown server */
  accept(actor: string, server: string, tools: readonly string[] | undefined): Promise<string[]>;
}

const REFRESH_MS = 15_000;

export const createOperatorReview = ({ servers, refreshAll, review }: OperatorReviewDeps): OperatorReview => ({
  async list() {
    if (servers.length === 0) return [];
    // If a server does not answer, its last known tools are listed.
    await refreshAll(AbortSignal.timeout(REFRESH_MS)).catch(() => undefined);
    return review.list(servers, null);
  },

  async accept(actor, server, tools) {
    if (servers.every(({ id }) => id !== server)) throw new ApiError('tool_not_found');
    return review.accept(actor, { server, ownerId: null }, tools);
  },
});
