import type { PushService } from '@uswarm/contract';
import type { Clock, Logger } from '@uswarm/service-kit';
import { createOutgoing } from '@uswarm/service-kit/outgoing';
import type { OrchestratorConfig } from '../../config.js';
import { createApnsSender } from './apns-sender.js';
import { createApnsTokens } from './apns-token.js';
import { createFcmSender } from './fcm-sender.js';
import { createGoogleTokens } from './google-token.js';
import type { PushSender } from './push-sender.js';
import type { Vapid } from './vapid.js';
import { createWebPushSender } from './web-push-sender.js';

/** Contains only services that have settings. */
export type PushSenders = Partial<Record<PushService, PushSender>>;

type SenderConfig = Pick<
  OrchestratorConfig,
  | 'PUSH_SERVICE_ACCOUNT'
  | 'PUSH_URL'
  | 'APNS_KEY'
  | 'APNS_KEY_ID'
  | 'APNS_TEAM_ID'
  | 'APNS_TOPIC'
  | 'APNS_ENVIRONMENT'
  | 'APNS_URL'
  | 'WEB_PUSH_PRIVATE_KEY'
  | 'WEB_PUSH_CONTACT'
  | 'WEB_PUSH_PRIVATE_HOSTS'
>;

interface PushSendersDeps {
  config: SenderConfig & Pick<OrchestratorConfig, 'proxy'>;
  clock: Clock;
  logger: Logger;
}

/** @returns undefined without Web Push */
export function vapidOf({ WEB_PUSH_PRIVATE_KEY: pair, WEB_PUSH_CONTACT: contact }: SenderConfig): Vapid | undefined {
  return pair === undefined || contact === undefined ? undefined : { ...pair, contact };
}

const APNS_URLS = { production: 'https://api.push.apple.com', sandbox: 'https://api.sandbox.push.apple.com' };

/** @returns undefined without Apple's service */
function apnsOf(config: SenderConfig) {
  const { APNS_KEY: key, APNS_KEY_ID: keyId, APNS_TEAM_ID: teamId, APNS_TOPIC: topic } = config;
  if (key === undefined || keyId === undefined || teamId === undefined || topic === undefined) return undefined;
  return { url: config.APNS_URL ?? APNS_URLS[config.APNS_ENVIRONMENT], topic, key: { key, keyId, teamId } };
}

export function pushServicesOf(config: SenderConfig): PushService[] {
  const services: PushService[] = [];
  if (config.PUSH_SERVICE_ACCOUNT !== undefined) services.push('fcm');
  if (apnsOf(config) !== undefined) services.push('apns');
  if (vapidOf(config) !== undefined) services.push('web_push');
  return services;
}

export function createPushSenders({ config, clock, logger }: PushSendersDeps) {
  const outgoing = createOutgoing(config.proxy);
  const toUsers = createOutgoing(config.proxy, { publicExcept: config.WEB_PUSH_PRIVATE_HOSTS });
  const senders: PushSenders = {};
  const { PUSH_SERVICE_ACCOUNT: account, PUSH_URL: url } = config;
  if (account !== undefined) {
    const tokens = createGoogleTokens({ account, outgoing, clock });
    senders.fcm = createFcmSender({ url, projectId: account.project_id, tokens, outgoing, clock, logger });
  }
  const apns = apnsOf(config);
  if (apns !== undefined) {
    const tokens = createApnsTokens(apns.key, clock);
    senders.apns = createApnsSender({ url: apns.url, topic: apns.topic, tokens, outgoing, clock, logger });
  }
  const vapid = vapidOf(config);
  if (vapid !== undefined) senders.web_push = createWebPushSender({ vapid, outgoing: toUsers, clock, logger });
  return {
    senders,
    async close() {
      await Promise.all([outgoing.close(), toUsers.close()]);
    },
  };
}
