import type { ArtifactVersion } from '@uswarm/contract';
import { type Insertable, sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import type { ArtifactsTable, ArtifactVersionsTable } from '../../platform/database/tables.js';
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

const VERSION = ['version', 'title', 'status', 'agent_slug', 'preview', 'size', 'object_id', 'created_at'] as const;
const OF_VERSION = VERSION.map((column) => `v.${column}` as const);

const ofWorkspace = (db: Database, workspaceId: string) =>
  db
    .selectFrom('artifacts as a')
    .innerJoin('artifact_versions as v', 'v.artifact_id', 'a.id')
    .where('a.workspace_id', '=', workspaceId);

/** Last changed first. */
export function listArtifacts(
  db: Database,
  workspaceId: string,
  limit: number,
  after?: ListPosition,
): Promise<ListedArtifact[]> {
  const query = ofWorkspace(db, workspaceId)
    .whereRef('v.version', '=', 'a.version')
    .select(['a.id', 'a.conversation_id', ...OF_VERSION, listPosition('a.updated_at', 'a.id').as('position')])
    .orderBy('a.updated_at', 'desc')
    .orderBy('a.id', 'desc')
    .limit(limit);
  if (after === undefined) return query.execute();
  return query.where(sql<boolean>`(a.updated_at, a.id) < (${after.time}::timestamptz, ${after.key}::uuid)`).execute();
}

/** Includes the given version. Default: the latest */
export function findArtifact(
  db: Database,
  workspaceId: string,
  id: string,
  version?: number,
): Promise<(ArtifactRow & { latest: number }) | undefined> {
  return ofWorkspace(db, workspaceId)
    .where('a.id', '=', id)
    .where('v.version', '=', version ?? sql<number>`a.version`)
    .select(['a.id', 'a.conversation_id', 'a.version as latest', ...OF_VERSION])
    .executeTakeFirst();
}

/** Newest first. */
export function listArtifactVersions(db: Database, id: string): Promise<VersionRow[]> {
  return db
    .selectFrom('artifact_versions')
    .select(VERSION)
    .where('artifact_id', '=', id)
    .orderBy('version', 'desc')
    .execute();
}

/** Blocks concurrent artifact changes in the workspace. @returns false if the workspace does not exist */
export async function lockArtifacts(db: Database, workspaceId: string): Promise<boolean> {
  const row = await db
    .selectFrom('workspaces')
    .select('id')
    .where('id', '=', workspaceId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row !== undefined;
}

/** Of an imported workspace. */
export async function restoreArtifact(
  db: Database,
  artifact: Insertable<ArtifactsTable>,
  versions: readonly Insertable<ArtifactVersionsTable>[],
): Promise<void> {
  await db.insertInto('artifacts').values(artifact).execute();
  await db.insertInto('artifact_versions').values(versions).execute();
}

/** Call it after `lock`. @returns false if the workspace has `limit` artifacts */
export async function insertArtifact(
  db: Database,
  { id, workspaceId, conversationId }: { id: string; workspaceId: string; conversationId: string },
  version: NewVersion,
  limit: number,
): Promise<boolean> {
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
}

/** Call it after `lock`. */
export function findLatestArtifactVersion(
  db: Database,
  workspaceId: string,
  id: string,
): Promise<VersionRow | undefined> {
  return ofWorkspace(db, workspaceId)
    .where('a.id', '=', id)
    .whereRef('v.version', '=', 'a.version')
    .select(OF_VERSION)
    .executeTakeFirst();
}

/** Call it after `lock`. */
export async function appendArtifactVersion(
  db: Database,
  id: string,
  version: NewVersion & { version: number },
): Promise<void> {
  await db
    .insertInto('artifact_versions')
    .values({ artifact_id: id, status: 'draft', ...version })
    .execute();
  await db
    .updateTable('artifacts')
    .set({ version: version.version, updated_at: sql`now()` })
    .where('id', '=', id)
    .execute();
}

/** Marks the latest version as final. Call it after `lock`. */
export async function finishArtifactVersion(db: Database, id: string, version: number): Promise<void> {
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
}

/** @returns false if the workspace has no such artifact */
export async function deleteArtifact(db: Database, workspaceId: string, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('artifacts')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

export async function hasArtifactObject(db: Database, objectId: string): Promise<boolean> {
  const row = await db
    .selectFrom('artifact_versions')
    .select('object_id')
    .where('object_id', '=', objectId)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
