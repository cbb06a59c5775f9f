import type { KubeApi, Place } from './kube-api.js';

/** Returns a decoded Secret value. @throws Error if it does not exist */
export async function secretValue(api: Pick<KubeApi, 'get'>, place: Place, key: string): Promise<string> {
  const value = (await api.get('Secret', place)).data?.[key];
  if (value === undefined) throw new Error(`the Secret ${place.namespace}/${place.name} has no ${key}`);
  return Buffer.from(value, 'base64').toString();
}
