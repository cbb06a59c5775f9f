import type { Logger } from '@uswarm/service-kit';
import { McpFailure } from '@uswarm/mcp-client';
import type { Database, WithTransaction } from '../../platform/database/database.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import { pruningRow } from '../../platform/jobs/pruning.js';
import { findAcceptedHash, type HashedDefinition, storeListing } from '../../records/tool-definitions.store.js';
import { holdUserServer, noteListing } from '../../records/user-tool-servers.store.js';
import type { ServerClient } from './server-client.js';
import { definitionHash, type ReadTool, readTools } from './tool-definition.js';
import type { ToolServer } from './tool-servers-file.js';

/** A server with the account that all users share, or with a user's account. */
export interface ConnectedServer {
  server: ToolServer;
  ownerId: string | null;
  client: ServerClient;
}

export interface ListingDeps {
  /** With shared accounts. */
  servers: readonly ConnectedServer[];
  database: Database;
  withTransaction: WithTransaction;
  /** Called after a listing is stored. */
  stored: () => void;
  logger: Pick<Logger, 'info' | 'warn'>;
}

const LISTING_JOB = 'tool_listing';
const EVERY_MS = 10 * 60_000;
const AGAIN_MS = 30_000;

export interface Listing {
  /** Reads all servers' tools and stores them. @returns false if a server did not answer */
  refreshAll(signal: AbortSignal): Promise<boolean>;
  /** Reads a server's tools and stores them. A failure is logged. @returns false if the server did not answer */
  tryRefresh(connected: ConnectedServer, signal: AbortSignal): Promise<boolean>;
  /** Reads a server's tools and stores them. @throws McpFailure */
  refresh(connected: ConnectedServer, signal: AbortSignal): Promise<void>;
  /** False if the tool is not as it was accepted, there or here. @throws McpFailure */
  isUnchanged(server: ConnectedServer, tool: HashedDefinition, signal: AbortSignal): Promise<boolean>;
  job: JobDefinition;
}

/** Definitions to store. */
export const offered = (read: readonly ReadTool[]): HashedDefinition[] =>
  read.flatMap((tool) => ('problem' in tool ? [] : [{ definition: tool, hash: definitionHash(tool) }]));

/** @throws McpFailure */
export async function listTools(
  server: string,
  client: Pick<ServerClient, 'list'>,
  signal: AbortSignal,
): Promise<ReadTool[]> {
  const { tools, unusable } = await client.list(signal);
  return readTools(server, tools, unusable);
}

export function createListing({ servers, database, withTransaction, stored, logger }: ListingDeps): Listing {
  /** Failures and refused tools that were logged, by server. */
  const logged = new Map<string, string>();

  function logOnce(server: string, state: string, details: object, message: string): void {
    if (logged.get(server) === state) return;
    logged.set(server, state);
    logger.warn({ server, ...details }, message);
  }

  /** The user sees the failure; an operator can do nothing about it. */
  async function refreshUserServer({ server: { id }, ownerId, client }: ConnectedServer, signal: AbortSignal) {
    try {
      const listed = offered(await listTools(id, client, signal));
      await withTransaction(async (tx) => {
        // The user may have removed it meanwhile.
        if (!(await holdUserServer(tx, id))) return;
        await storeListing(tx, { server: id, ownerId }, listed);
        await noteListing(tx, id, null);
      });
    } catch (error) {
      if (error instanceof McpFailure) await noteListing(database, id, error.message);
      throw error;
    }
  }

  async function refresh(connected: ConnectedServer, signal: AbortSignal): Promise<void> {
    const { server, ownerId, client } = connected;
    if (server.addedBy !== undefined) return refreshUserServer(connected, signal);
    const { id } = server;
    const read = await listTools(id, client, signal);
    const changed = await withTransaction((tx) => storeListing(tx, { server: id, ownerId }, offered(read)));
    stored();
    if (changed.length > 0)
      logger.warn(
        { server: id, tools: changed },
        'tools of a tool server have changed, and are disabled until an operator accepts it',
      );
    const refused = read.filter((tool) => 'problem' in tool);
    if (refused.length === 0) logged.delete(id);
    else logOnce(id, JSON.stringify(refused), { tools: refused }, 'a tool server lists tools that agents cannot have');
  }

  async function tryRefresh(connected: ConnectedServer, signal: AbortSignal): Promise<boolean> {
    try {
      await refresh(connected, signal);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof McpFailure)) throw error;
      logOnce(connected.server.id, error.message, { err: error }, 'a tool server cannot list its tools');
      return false;
    }
  }

  const refreshAll = async (signal: AbortSignal): Promise<boolean> =>
    (await Promise.all(servers.map((one) => tryRefresh(one, signal)))).every(Boolean);

  return {
    refreshAll,
    tryRefresh,
    refresh,

    async isUnchanged(connected, { definition, hash }, signal) {
      const { ownerId } = connected;
      const { id } = connected.server;
      const isAccepted = async (): Promise<boolean> =>
        (await findAcceptedHash(database, { server: id, ownerId }, definition.name))?.equals(hash) === true;
      if (!(await isAccepted())) return false;
      await refresh(connected, signal);
      return isAccepted();
    },

    job: {
      type: LISTING_JOB,
      atStart: pruningRow(LISTING_JOB),
      async handle(_job, signal) {
        return { againInMs: (await refreshAll(signal)) ? EVERY_MS : AGAIN_MS };
      },
    },
  };
}
