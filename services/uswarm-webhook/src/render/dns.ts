import { DNS_ACCESS, type UserSwarmSpec } from '@uswarm/contract/userswarm';
import { modelGatewayOf } from './model-gateway.js';
import type { TemplateSettings } from './settings.js';

// Names that a pod resolves can carry data out of the cluster. A runtime that uses the model gateway connects only to
// Services whose addresses are known, so it needs no DNS. Others must resolve their provider's name.

type Settings = Pick<TemplateSettings, 'modelGateway' | 'pods'>;
type Spec = Pick<UserSwarmSpec, 'config'>;

const isClosed = (spec: Spec, settings: Settings): boolean =>
  settings.pods.hostAliases.length > 0 && modelGatewayOf(spec, settings) !== undefined;

export const dnsLabels = (spec: Spec, settings: Settings): Record<string, string> =>
  isClosed(spec, settings) ? { [DNS_ACCESS.label]: DNS_ACCESS.none } : {};

export const dnsFields = (spec: Spec, settings: Settings): object =>
  isClosed(spec, settings)
    ? {
        dnsPolicy: 'None',
        // Kubernetes requires a server. Nothing listens there, so other names fail immediately.
        dnsConfig: { nameservers: ['127.0.0.1'] },
        hostAliases: settings.pods.hostAliases,
      }
    : {};
