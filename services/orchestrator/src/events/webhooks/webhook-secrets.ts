import type { Logger } from '@uswarm/service-kit';
import { DecryptionError, type TokenCipher } from '../../apps/integrations/token-cipher.js';
import type { SecretRow } from '../../records/webhooks.store.js';

/** Encrypts webhook secrets with the keys for integration tokens. */
export interface WebhookSecrets {
  seal(secret: string, owner: { userId: string; webhookId: string }): SecretRow;
  /** Without those whose key is missing. */
  open(rows: readonly SecretRow[]): string[];
}

export const createWebhookSecrets = (cipher: TokenCipher, logger: Logger): WebhookSecrets => ({
  seal(secret, { userId, webhookId }) {
    const owner = { userId, provider: `webhook:${webhookId}` };
    return { ...owner, ...cipher.seal({ accessToken: secret }, owner) };
  },
  open: (rows) =>
    rows.flatMap((row) => {
      try {
        return [cipher.open(row, row).accessToken];
      } catch (error) {
        if (!(error instanceof DecryptionError)) throw error;
        logger.error({ err: error, webhook: row.provider }, 'a webhook secret cannot be decrypted; is a key missing?');
        return [];
      }
    }),
});
