import { randomUUIDv7 } from 'node:crypto';
import { ApiError, type ApiToken, type ApiTokenBody, LIMITS, type NewApiToken, TokenScope } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { Database, Transaction, WithTransaction } from '../../platform/database/database.js';
import { requiredLine } from '../../platform/http/visible-text.js';
import { appendAudit } from '../../records/audit.store.js';
import { lockUser } from '../../records/lock-user.js';
import type { UserActor } from '../auth/actor.js';
import { createTokenText, hashOfToken } from '../auth/api-token-text.js';
import {
  type ApiTokenRow,
  countApiTokens,
  deleteApiToken,
  deleteExpiredApiTokens,
  insertApiToken,
  listApiTokens,
} from '../auth/api-tokens.store.js';
import type { SessionRevocationPublisher } from '../auth/session-revocation-publisher.js';
import { revokeToken } from '../auth/sessions.store.js';
import { expiryOf } from './expiry.js';
import { listOwnedIds } from './token-reach.store.js';

export interface ApiTokenServiceDeps {
  database: Database;
  withTransaction: WithTransaction;
  sessionEnds: Pick<SessionRevocationPublisher, 'publish'>;
  /** Days until a token expires, by default and at most. */
  days: { initial: number; maximum: number };
  clock: Clock;
}

type Owner = Pick<UserActor, 'userId' | 'session'>;

export interface ApiTokenService {
  /** Newest first, with expired tokens. */
  list(userId: string): Promise<ApiToken[]>;
  /**
   * Expired tokens make room for new ones.
   *
   * @throws ApiError `validation_failed`, `workspace_not_found`, `api_token_limit_reached`, `user_deleted`
   */
  create(owner: Owner, body: ApiTokenBody): Promise<NewApiToken>;
  /** Deletes the token and closes its sockets. @throws ApiError `api_token_not_found` */
  revoke(owner: Owner, id: string): Promise<void>;
}

export function createApiTokenService(deps: ApiTokenServiceDeps): ApiTokenService {
  const { database, withTransaction, sessionEnds, days, clock } = deps;

  async function requireRoom(userId: string, tx: Transaction): Promise<void> {
    if ((await countApiTokens(tx, userId)) < LIMITS.apiTokensPerUser) return;
    await deleteExpiredApiTokens(tx, userId);
    if ((await countApiTokens(tx, userId)) >= LIMITS.apiTokensPerUser) throw new ApiError('api_token_limit_reached');
  }

  async function requireOwn(userId: string, workspaceIds: readonly string[], tx: Transaction): Promise<void> {
    const owned = new Set(await listOwnedIds(tx, userId));
    if (!workspaceIds.every((id) => owned.has(id))) throw new ApiError('workspace_not_found');
  }

  /** Without the name, which the user chose. */
  const record = (
    verb: 'create' | 'revoke',
    { userId, session }: Owner,
    subjectId: string,
    details: object,
    tx: Transaction,
  ) =>
    appendAudit(tx, {
      actor: 'user',
      action: `api_token.${verb}`,
      userId,
      subjectId,
      details: { ...details, ...(session.source === null ? {} : { source: session.source }) },
    });

  return {
    list: async (userId) => (await listApiTokens(database, userId)).map(view),

    async create(owner, body) {
      const { userId } = owner;
      const name = requiredLine('name', body.name);
      const expiresAt = expiryOf(body.expires_at ?? null, clock.now(), days);
      const scopes = TokenScope.options.filter((scope) => body.scopes.includes(scope));
      const named = body.workspace_ids ?? null;
      const workspaceIds = named === null ? null : [...new Set(named.map((id) => id.toLowerCase()))];
      const token = createTokenText();
      const row = await withTransaction(async (tx) => {
        if (!(await lockUser(tx, userId))) throw new ApiError('user_deleted');
        if (workspaceIds !== null) await requireOwn(userId, workspaceIds, tx);
        await requireRoom(userId, tx);
        const id = randomUUIDv7();
        const tokenHash = hashOfToken(token);
        const created = await insertApiToken(tx, { id, userId, tokenHash, name, scopes, workspaceIds, expiresAt });
        const details = { scopes, workspace_ids: workspaceIds, expires_at: expiresAt.toISOString() };
        await record('create', owner, id, details, tx);
        return created;
      });
      return { ...view(row), token };
    },

    async revoke(owner, id) {
      const { userId } = owner;
      const deleted = await withTransaction(async (tx) => {
        const found = await deleteApiToken(tx, userId, id);
        if (found === undefined) throw new ApiError('api_token_not_found');
        await revokeToken(tx, found.token_hash, found.expires_at);
        await record('revoke', owner, id, {}, tx);
        return found;
      });
      sessionEnds.publish(userId, deleted.token_hash, 'logged_out');
    },
  };
}

const view = ({ id, name, scopes, workspace_ids, created_at, expires_at, last_used_at }: ApiTokenRow): ApiToken => ({
  id,
  name,
  scopes: TokenScope.options.filter((scope) => scopes.includes(scope)),
  workspace_ids,
  created_at: created_at.toISOString(),
  expires_at: expires_at.toISOString(),
  last_used_at: last_used_at?.toISOString() ?? null,
});
