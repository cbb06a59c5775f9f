import type { Database } from '../../platform/database/database.js';
import { findConnectionScopes, storeNeededScopes } from '../../records/integrations.store.js';
import { AccountNeeded } from '../../turns/tools/platform-tool.js';
import { connectionKey } from './server-accounts.js';
import type { ToolServer } from './tool-servers-file.js';

/** Scopes that a server needs for some of its tools, of one user's connection. */
export interface ServerScopes {
  /** @throws AccountNeeded if the tool needs scopes for which the user was not asked yet */
  require(tool: string): Promise<void>;
  /**
   * Stores what the server needs for a call that it has rejected. The user is asked once for the same scopes.
   *
   * @throws AccountNeeded unless the user was asked for them before
   */
  need(tool: string, scopes: readonly string[]): Promise<void>;
}

export function createServerScopes({ id, name }: ToolServer, userId: string, database: Database): ServerScopes {
  const key = connectionKey(id);
  return {
    async require(tool) {
      const { needed = {}, asked = [] } = (await findConnectionScopes(database, userId, key)) ?? {};
      const scopes = Object.hasOwn(needed, tool) ? needed[tool] : undefined;
      if (scopes?.some((scope) => !asked.includes(scope)) === true) throw new AccountNeeded(name);
    },

    async need(tool, scopes) {
      const { asked = [] } = (await findConnectionScopes(database, userId, key)) ?? {};
      if (scopes.every((scope) => asked.includes(scope))) return;
      await storeNeededScopes(database, { userId, provider: key }, tool, scopes);
      throw new AccountNeeded(name);
    },
  };
}
