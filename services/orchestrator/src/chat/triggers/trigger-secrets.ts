import { ApiError, type TriggerWithUrl } from '@uswarm/contract';
import type { TokenCipher } from '../../apps/integrations/token-cipher.js';
import { newWebhookSecret } from '../../platform/http/webhook-signature.js';
import { changeSchedule } from '../../records/schedule-rows.js';
import { deleteSigningSecret, replaceSigningSecret } from '../../records/trigger-secrets.store.js';
import { recordTrigger, type TriggerAccess, type TriggerPath, viewTrigger } from './trigger-access.js';
import { hashOfSecret, newUrlSecret } from './url-secret.js';

export interface TriggerSecretsDeps {
  access: TriggerAccess;
  urlOf: (secret: string) => string;
  /** Undefined without keys: signing secrets would be lost when the process ends. */
  cipher: Pick<TokenCipher, 'seal'> | undefined;
}

/** Changes the URL's secret and the signing secret. Throws as `TriggerService` does. */
export interface TriggerSecrets {
  rotateUrl(path: TriggerPath): Promise<TriggerWithUrl>;
  /**
   * @param given default: a new secret
   * @returns the secret
   * @throws ApiError `trigger_signing_unavailable`
   */
  requireSignature(path: TriggerPath, given: string | undefined): Promise<string>;
  removeSignature(path: TriggerPath): Promise<void>;
}

export function createTriggerSecrets({ access: { withTrigger }, urlOf, cipher }: TriggerSecretsDeps): TriggerSecrets {
  return {
    rotateUrl: (path) =>
      withTrigger(path, async ({ id }, tx) => {
        const secret = newUrlSecret();
        await changeSchedule(tx, id, { secret_hash: hashOfSecret(secret) });
        await recordTrigger(path, 'rotate-url', tx);
        return { ...(await viewTrigger(tx, path)), url: urlOf(secret) };
      }),

    requireSignature: (path, given) =>
      withTrigger(path, async (row, tx) => {
        if (cipher === undefined) throw new ApiError('trigger_signing_unavailable');
        const secret = given ?? newWebhookSecret();
        const owner = { userId: path.userId, provider: `trigger:${row.id}` };
        await replaceSigningSecret(tx, row, { ...owner, ...cipher.seal({ accessToken: secret }, owner) });
        await recordTrigger(path, 'require-signature', tx);
        return secret;
      }),

    removeSignature: (path) =>
      withTrigger(path, async ({ id }, tx) => {
        await deleteSigningSecret(tx, id);
        await recordTrigger(path, 'remove-signature', tx);
      }),
  };
}
