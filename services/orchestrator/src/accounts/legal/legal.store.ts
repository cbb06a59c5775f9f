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

export interface LegalStore {
  /** Publishes new versions, and updates the text of published ones. */
  install(documents: readonly LegalDocument[]): Promise<void>;
  /** @returns undefined if this version was published before; then nothing changes */
  publish(document: LegalDocument, db: Database): Promise<PublishedVersion | undefined>;
  /** All versions, newest first. */
  history(): Promise<PublishedVersion[]>;
  current(): Promise<LegalDocument[]>;
  currentVersions(): Promise<LegalVersions>;
  /** Keeps the first acceptance time for each version. */
  accept(userId: string, versions: Partial<LegalVersions>): Promise<void>;
  /** The last accepted version of each document; null if there is none. */
  accepted(userId: string): Promise<Record<LegalDocumentName, string | null>>;
}

export function createLegalStore(database: Database): LegalStore {
  const withTransaction = createWithTransaction(database);
  const newestFirst = (db: Database) =>
    db.selectFrom('legal_documents').orderBy('document').orderBy('published_at', 'desc').orderBy('version', 'desc');

  return {
    async install(documents) {
      await database
        .insertInto('legal_documents')
        .values([...documents])
        .onConflict((conflict) =>
          conflict
            .columns(['document', 'version'])
            .doUpdateSet({ content: sql`excluded.content` })
            .where(sql<boolean>`legal_documents.content <> excluded.content`),
        )
        .execute();
    },

    publish: (document, db) =>
      db
        .insertInto('legal_documents')
        .values(document)
        .onConflict((conflict) => conflict.columns(['document', 'version']).doNothing())
        .returning(['document', 'version', 'published_at'])
        .executeTakeFirst(),

    history: () => newestFirst(database).select(['document', 'version', 'published_at']).execute(),

    current: () => newestFirst(database).distinctOn('document').select(['document', 'version', 'content']).execute(),

    async currentVersions() {
      const rows = await newestFirst(database).distinctOn('document').select(['document', 'version']).execute();
      const versions: LegalVersions = { terms_of_service: '', privacy_policy: '' };
      for (const { document, version } of rows) versions[document] = version;
      return versions;
    },

    accept: (userId, versions) =>
      withTransaction(async (tx) => {
        for (const [document, version] of Object.entries(versions) as [LegalDocumentName, string][]) {
          await tx
            .insertInto('legal_acceptances')
            .values({ user_id: userId, document, version })
            .onConflict((conflict) => conflict.columns(['user_id', 'document', 'version']).doNothing())
            .execute();
          await setAcceptedVersion(userId, { document, version }, tx);
        }
      }),

    async accepted(userId) {
      const row = await database
        .selectFrom('users')
        .select(['accepted_terms_version as terms_of_service', 'accepted_privacy_version as privacy_policy'])
        .where('id', '=', userId)
        .executeTakeFirst();
      return row ?? { terms_of_service: null, privacy_policy: null };
    },
  };
}
