import { z } from 'zod';

// Kubernetes object names (RFC 1123).

export const LABEL_PATTERN = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
export const SUBDOMAIN_PATTERN = String.raw`${LABEL_PATTERN}(\.${LABEL_PATTERN})*`;

/** A label of any length, such as a namespace or a slug. */
export const DNS_LABEL = new RegExp(`^${LABEL_PATTERN}$`);

/** For namespaces and Services. */
export const DnsLabel = z.string().min(1).max(63).regex(DNS_LABEL);

/** For Secrets and ConfigMaps. */
export const DnsSubdomain = z
  .string()
  .min(1)
  .max(253)
  .regex(new RegExp(`^${SUBDOMAIN_PATTERN}$`));
