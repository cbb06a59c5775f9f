import { isAlreadyExists, isDenied, isNotFound, type KubeClient, type KubernetesObject } from '@uswarm/kube-client';
import type { ProductionSecret } from './production-secrets.js';
import type { InputName, InputValues } from './secret-inputs.js';
import {
  namespaceObject,
  NAMESPACES,
  namespacesOf,
  secretObject,
  SECRETS,
  type Target,
  wantedSecrets,
} from './secret-manifests.js';

export interface CreatedSecret {
  name: string;
  namespace: string;
  outcome: 'created' | 'kept';
  /** Keys that a kept Secret does not have. */
  missing: string[];
}

export interface CreateSecretsDeps {
  client: Pick<KubeClient, 'get' | 'create'>;
  target: Target;
  /** Called once, with what new Secrets need. */
  inputs: (names: InputName[]) => Promise<InputValues>;
}

type Data = Record<string, string>;
interface Place {
  secret: ProductionSecret;
  namespace: string;
  existing: Data | undefined;
}

/** Creates the Secrets that do not exist. Never changes one that does. @throws KubeError, or Failure for an input */
export async function createSecrets({ client, target, inputs }: CreateSecretsDeps): Promise<CreatedSecret[]> {
  const wanted = wantedSecrets(target);
  const places: Place[] = [];
  for (const secret of wanted) {
    for (const namespace of namespacesOf(secret, target)) {
      places.push({ secret, namespace, existing: await findData(client, secret.name, namespace) });
    }
  }
  const copyOf = ({ name }: ProductionSecret): Data | undefined =>
    places.find(({ secret, existing }) => secret.name === name && existing !== undefined)?.existing;
  const fresh = wanted.filter((secret) => copyOf(secret) === undefined);
  const values = await inputs([...new Set(fresh.flatMap((secret) => secret.inputs))]);
  // Once per Secret: both namespaces get the same values.
  const made = new Map(fresh.map((secret) => [secret.name, encoded(secret.values(values))]));
  for (const namespace of new Set(places.map((place) => place.namespace)))
    await ensureNamespace(client, namespace, target);
  const report: CreatedSecret[] = [];
  for (const { secret, namespace, existing } of places) {
    const { name } = secret;
    const data = existing ?? copyOf(secret) ?? made.get(name) ?? {};
    const isNew = existing === undefined && (await create(client, { ...secretObject(secret, namespace), data }));
    const stored = isNew ? data : (existing ?? (await findData(client, name, namespace)) ?? {});
    report.push({ name, namespace, outcome: isNew ? 'created' : 'kept', missing: missingIn(secret, stored) });
  }
  return report;
}

const encoded = (values: Record<string, string>): Data =>
  Object.fromEntries(Object.entries(values).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));

/** The keys do not depend on the values. */
function missingIn(secret: ProductionSecret, data: Data): string[] {
  const keys = Object.keys(secret.values({} as InputValues));
  return keys.filter((key) => !Object.hasOwn(data, key));
}

async function findData(client: Pick<KubeClient, 'get'>, name: string, namespace: string): Promise<Data | undefined> {
  try {
    const found = await client.get(SECRETS, { name, namespace });
    return (found['data'] as Data | undefined) ?? {};
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** @returns false if the Secret was created in the meantime */
async function create(client: Pick<KubeClient, 'create'>, object: KubernetesObject): Promise<boolean> {
  try {
    await client.create(SECRETS, object);
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return false;
    throw error;
  }
}

async function ensureNamespace(client: CreateSecretsDeps['client'], name: string, target: Target): Promise<void> {
  try {
    await client.get(NAMESPACES, { name });
  } catch (error) {
    // Someone who may only write Secrets cannot read namespaces: then they must exist.
    if (isDenied(error)) return;
    if (!isNotFound(error)) throw error;
    await client.create(NAMESPACES, namespaceObject(name, target)).catch((refused: unknown) => {
      if (!isAlreadyExists(refused)) throw refused;
    });
  }
}
