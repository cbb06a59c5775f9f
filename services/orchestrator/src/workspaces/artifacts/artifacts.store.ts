import type { ArtifactVersion } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import { type ListPosition, listPosition } from '../../records/list-cursor.js';

export interface VersionRow {
  version: number;
  title: string;
  status: ArtifactVersion['status'];
  agent_slug: string;
  preview: string;
  size: number;
  /** Object store key for the version's content. */
  object_id: string;
  created_at: Date;
}

export interface ArtifactRow extends VersionRow {
  id: string;
  conversation_id: string | null;
}

export type ListedArtifact = ArtifactRow & { position: ListPosition };

export type NewVersion = Omit<VersionRow, 'version' | 'status' | 'created_at'>;

export interface ArtifactStore {
  /** Last changed first. */
  list(workspaceId: string, limit: number, after?: ListPosition): Promise<ListedArtifact[]>;
  /** Includes the given version. Default: the latest */
  find(workspaceId: string, id: string, version?: number): Promise<(ArtifactRow & { latest: number }) | undefined>;
  /** Newest first. */
  versions(id: string): Promise<VersionRow[]>;
  /** Blocks concurrent artifact changes in the workspace. @returns false if the workspace does not exist */
  lock(workspaceId: string, db: Database): Promise<boolean>;
  /** Call it after `lock`. @returns false if the workspace has `limit` artifacts */
  insert(
    artifact: { id: string; workspaceId: string; conversationId: string },
    version: NewVersion,
    limit: number,
    db: Database,
  ): Promise<boolean>;
  /** Call it after `lock`. */
  latest(workspaceId: string, id: string, db: Database): Promise<VersionRow | undefined>;
  /** Call it after `lock`. */
  append(id: string, version: NewVersion & { version: number }, db: Database): Promise<void>;
  /** Marks the latest version as final. Call it after `lock`. */
  finish(id: string, version: number, db: Database): Promise<void>;
  /** @returns false if the workspace has no such artifact */
  delete(workspaceId: string, id: string, db: Database): Promise<boolean>;
  hasObject(objectId: string, db: Database): Promise<boolean>;
}

const VERSION = ['version', 'title', 'status', 'agent_slug', 'preview', 'size', 'object_id', 'created_at'] as const;
const OF_VERSION = VERSION.map((column) => `v.${column}` as const);

export function createArtifactStore(database: Database): ArtifactStore {
  const ofWorkspace = (workspaceId: string, db: Database) =>
    db
      .selectFrom('artifacts as a')
      .innerJoin('artifact_versions as v', 'v.artifact_id', 'a.id')
      .where('a.workspace_id', '=', workspaceId);

  return {
    list(workspaceId, limit, after) {
      const query = ofWorkspace(workspaceId, database)
        .whereRef('v.version', '=', 'a.version')
        .select(['a.id', 'a.conversation_id', ...OF_VERSION, listPosition('a.updated_at', 'a.id').as('position')])
        .orderBy('a.updated_at', 'desc')
        .orderBy('a.id', 'desc')
        .limit(limit);
      if (after === undefined) return query.execute();
      return query
        .where(sql<boolean>`(a.updated_at, a.id) < (${after.time}::timestamptz, ${after.key}::uuid)`)
        .execute();
    },

    find: (workspaceId, id, version) =>
      ofWorkspace(workspaceId, database)
        .where('a.id', '=', id)
        .where('v.version', '=', version ?? sql<number>`a.version`)
        .select(['a.id', 'a.conversation_id', 'a.version as latest', ...OF_VERSION])
        .executeTakeFirst(),

    versions: (id) =>
      database
        .selectFrom('artifact_versions')
        .select(VERSION)
        .where('artifact_id', '=', id)
        .orderBy('version', 'desc')
        .execute(),

    async lock(workspaceId, db) {
      const row = await db
        .selectFrom('workspaces')
        .select('id')
        .where('id', '=', workspaceId)
        .forNoKeyUpdate()
        .executeTakeFirst();
      return row !== undefined;
    },

    async insert({ id, workspaceId, conversationId }, version, limit, db) {
      const { rows } = await sql`
        INSERT INTO artifacts (id, workspace_id, conversation_id)
        SELECT ${id}, ${workspaceId}, ${conversationId}
        WHERE (SELECT count(*) FROM artifacts WHERE workspace_id = ${workspaceId}) < ${limit}
        RETURNING id`.execute(db);
      if (rows.length === 0) return false;
      await db
        .insertInto('artifact_versions')
        .values({ artifact_id: id, version: 1, status: 'draft', ...version })
        .execute();
      return true;
    },

    latest: (workspaceId, id, db) =>
      ofWorkspace(workspaceId, db)
        .where('a.id', '=', id)
        .whereRef('v.version', '=', 'a.version')
        .select(OF_VERSION)
        .executeTakeFirst(),

    async append(id, version, db) {
      await db
        .insertInto('artifact_versions')
        .values({ artifact_id: id, status: 'draft', ...version })
        .execute();
      await db
        .updateTable('artifacts')
        .set({ version: version.version, updated_at: sql`now()` })
        .where('id', '=', id)
        .execute();
    },

    async finish(id, version, db) {
      await db
        .updateTable('artifact_versions')
        .set({ status: 'final' })
        .where('artifact_id', '=', id)
        .where('version', '=', version)
        .execute();
      await db
        .updateTable('artifacts')
        .set({ updated_at: sql`now()` })
        .where('id', '=', id)
        .execute();
    },

    async delete(workspaceId, id, db) {
      const { numDeletedRows } = await db
        .deleteFrom('artifacts')
        .where('workspace_id', '=', workspaceId)
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      return numDeletedRows > 0n;
    },

    async hasObject(objectId, db) {
      const row = await db
        .selectFrom('artifact_versions')
        .select('object_id')
        .where('object_id', '=', objectId)
        .limit(1)
        .executeTakeFirst();
      return row !== undefined;
    },
  };
}
