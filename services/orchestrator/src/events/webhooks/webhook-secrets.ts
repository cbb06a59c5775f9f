import type { TokenCipher } from '../../apps/integrations/token-cipher.js';
import type { SecretRow } from '../../records/webhooks.store.js';

/** Encrypts webhook secrets with the keys for integration tokens. */
export interface WebhookSecrets {
  seal(secret: string, owner: { userId: string; webhookId: string }): SecretRow;
  /** @throws DecryptionError */
  open(row: SecretRow): string;
}

export const createWebhookSecrets = (cipher: TokenCipher): WebhookSecrets => ({
  seal(secret, { userId, webhookId }) {
    const owner = { userId, provider: `webhook:${webhookId}` };
    return { ...owner, ...cipher.seal({ accessToken: secret }, owner) };
  },
  open: (row) => cipher.open(row, row).accessToken,
});
