import { ApiError, type LegalDocumentName, type LegalStatus } from '@uswarm/contract';
import {
  type LegalVersions,
  listCurrentDocuments,
  findAcceptedVersions,
  findCurrentVersions,
  acceptDocuments,
} from './legal.store.js';
import type { Database } from '../../platform/database/database.js';

export interface LegalServiceDeps {
  database: Database;
}

export interface LegalService {
  /** Without a user, no document counts as accepted. */
  status(userId?: string): Promise<LegalStatus>;
  /** @throws ApiError `legal_version_unknown` if one version is not current; then nothing is stored */
  accept(userId: string, versions: Partial<LegalVersions>): Promise<void>;
}

const NOTHING_ACCEPTED = { terms_of_service: null, privacy_policy: null };

export function createLegalService({ database }: LegalServiceDeps): LegalService {
  return {
    async status(userId) {
      const [documents, accepted] = await Promise.all([
        listCurrentDocuments(database),
        userId === undefined ? NOTHING_ACCEPTED : findAcceptedVersions(database, userId),
      ]);
      const find = (name: LegalDocumentName) =>
        documents.find(({ document }) => document === name) ?? { version: '', content: '' };
      const [terms, privacy] = [find('terms_of_service'), find('privacy_policy')];
      return {
        terms_of_service: terms.content,
        privacy_policy: privacy.content,
        has_agreed_with_terms: accepted.terms_of_service === terms.version,
        has_agreed_with_privacy_policy: accepted.privacy_policy === privacy.version,
        terms_of_service_version: terms.version,
        privacy_policy_version: privacy.version,
      };
    },

    async accept(userId, versions) {
      const currentVersions = await findCurrentVersions(database);
      const unknown = Object.entries(versions).some(
        ([document, version]) => currentVersions[document as LegalDocumentName] !== version,
      );
      if (unknown) {
        const { terms_of_service, privacy_policy } = currentVersions;
        throw new ApiError('legal_version_unknown', {
          extra: { terms_of_service_version: terms_of_service, privacy_policy_version: privacy_policy },
        });
      }
      await acceptDocuments(database, userId, versions);
    },
  };
}
