import type { Adapter, AdapterPayload } from 'oidc-provider';

interface Entry {
  payload: AdapterPayload;
  expiresAt: number;
}

/**
 * Sessions, codes and grants in memory. The library's adapter prints warnings and cannot be shared with the new
 * provider after a key rotation.
 */
export function createOidcStore(): (model: string) => Adapter {
  const entries = new Map<string, Entry>();

  const read = (key: string): AdapterPayload | undefined => {
    const entry = entries.get(key);
    if (entry === undefined || entry.expiresAt > Date.now()) return entry?.payload;
    entries.delete(key);
    return undefined;
  };

  const find = (model: string, matches: (payload: AdapterPayload) => boolean): AdapterPayload | undefined => {
    for (const key of entries.keys()) {
      const payload = key.startsWith(`${model}:`) ? read(key) : undefined;
      if (payload !== undefined && matches(payload)) return payload;
    }
    return undefined;
  };

  return (model) => ({
    upsert: async (id, payload, expiresIn) => {
      const expiresAt = expiresIn === undefined ? Infinity : Date.now() + expiresIn * 1000;
      entries.set(`${model}:${id}`, { payload, expiresAt });
    },
    find: async (id) => read(`${model}:${id}`),
    findByUid: async (uid) => find(model, (payload) => payload.uid === uid),
    findByUserCode: async (code) => find(model, (payload) => payload.userCode === code),
    consume: async (id) => {
      const payload = read(`${model}:${id}`);
      if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000);
    },
    destroy: async (id) => {
      entries.delete(`${model}:${id}`);
    },
    revokeByGrantId: async (grantId) => {
      for (const [key, { payload }] of entries) {
        if (payload.grantId === grantId) entries.delete(key);
      }
    },
  });
}
