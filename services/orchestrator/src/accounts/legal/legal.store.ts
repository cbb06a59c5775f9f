import type { LegalDocumentName } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import { createWithTransaction } from '../../platform/database/transaction.js';
import { setAcceptedVersion } from '../../records/users.store.js';

export interface LegalDocument {
  document: LegalDocumentName;
  version: string;
  content: string;
}

export interface PublishedVersion {
  document: LegalDocumentName;
  version: string;
  published_at: Date;
}

export type LegalVersions = Record<LegalDocumentName, string>;

const newestFirst = (db: Database) =>
  db.selectFrom('legal_documents').orderBy('document').orderBy('published_at', 'desc').orderBy('version', 'desc');

/** Publishes new versions, and updates the text of published ones. */
export async function installDocuments(db: Database, documents: readonly LegalDocument[]): Promise<void> {
  await db
    .insertInto('legal_documents')
    .values([...documents])
    .onConflict((conflict) =>
      conflict
        .columns(['document', 'version'])
        .doUpdateSet({ content: sql`excluded.content` })
        .where(sql<boolean>`legal_documents.content <> excluded.content`),
    )
    .execute();
}

/** @returns undefined if this version was published before; then nothing changes */
export function publishDocument(db: Database, document: LegalDocument): Promise<PublishedVersion | undefined> {
  return db
    .insertInto('legal_documents')
    .values(document)
    .onConflict((conflict) => conflict.columns(['document', 'version']).doNothing())
    .returning(['document', 'version', 'published_at'])
    .executeTakeFirst();
}

/** All versions, newest first. */
export function listPublishedVersions(db: Database): Promise<PublishedVersion[]> {
  return newestFirst(db).select(['document', 'version', 'published_at']).execute();
}

export function listCurrentDocuments(db: Database): Promise<LegalDocument[]> {
  return newestFirst(db).distinctOn('document').select(['document', 'version', 'content']).execute();
}

export async function findCurrentVersions(db: Database): Promise<LegalVersions> {
  const rows = await newestFirst(db).distinctOn('document').select(['document', 'version']).execute();
  const versions: LegalVersions = { terms_of_service: '', privacy_policy: '' };
  for (const { document, version } of rows) versions[document] = version;
  return versions;
}

/** Keeps the first acceptance time for each version. */
export function acceptDocuments(db: Database, userId: string, versions: Partial<LegalVersions>): Promise<void> {
  return createWithTransaction(db)(async (tx) => {
    for (const [document, version] of Object.entries(versions) as [LegalDocumentName, string][]) {
      await tx
        .insertInto('legal_acceptances')
        .values({ user_id: userId, document, version })
        .onConflict((conflict) => conflict.columns(['user_id', 'document', 'version']).doNothing())
        .execute();
      await setAcceptedVersion(tx, userId, { document, version });
    }
  });
}

/** The last accepted version of each document; null if there is none. */
export async function findAcceptedVersions(
  db: Database,
  userId: string,
): Promise<Record<LegalDocumentName, string | null>> {
  const row = await db
    .selectFrom('users')
    .select(['accepted_terms_version as terms_of_service', 'accepted_privacy_version as privacy_policy'])
    .where('id', '=', userId)
    .executeTakeFirst();
  return row ?? { terms_of_service: null, privacy_policy: null };
}
