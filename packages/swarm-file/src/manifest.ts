import { z } from 'zod';

/** Version of the format that docs/swarm-file.md describes. Increase it for incompatible changes. */
export const FORMAT = { format: 'uswarm-workspace', version: 1 } as const;

export const MANIFEST_PATH = 'manifest.json';
export const SIGNATURE_PATH = 'manifest.jws';
export const WORKSPACE_PATH = 'workspace.json';
export const KEYS_PATH = 'receipt-keys.json';

/** Members with one JSON object per line. */
export const TABLES = [
  'conversations',
  'messages',
  'artifacts',
  'schedules',
  'memories',
  'agents',
  'receipts',
  'files',
] as const;
export type Table = (typeof TABLES)[number];

export const tablePath = (table: Table): string => `${table}.jsonl`;
export const filePath = (id: string): string => `files/${id}`;
export const artifactPath = (id: string, version: number): string => `artifacts/${id}/${version}.md`;

/** Members that each file has. */
export const REQUIRED_PATHS: readonly string[] = [WORKSPACE_PATH, KEYS_PATH, ...TABLES.map(tablePath)];

const ID = String.raw`[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}`;
const CONTENT_PATH = new RegExp(String.raw`^(?:files/${ID}|artifacts/${ID}/[1-9]\d{0,5}\.md)$`);

/** A path from a file is only compared with others, and never names a place on a disk. */
export const isMemberPath = (path: string): boolean => REQUIRED_PATHS.includes(path) || CONTENT_PATH.test(path);

export const Member = z.strictObject({
  path: z.string().refine(isMemberPath, 'is not one that the format has'),
  /** Bytes. */
  size: z.int().nonnegative(),
  sha256: z.string().regex(/^[\da-f]{64}$/),
});
export type Member = z.output<typeof Member>;

/** More than a workspace can have: a thousand documents with a hundred versions, and ten thousand files. */
export const MAX_MEMBERS = 125_000;

/** Members are read one by one: a schema lists every error in an array before it ends. */
export const ManifestHead = z.strictObject({
  format: z.literal(FORMAT.format),
  version: z.literal(FORMAT.version),
  created_at: z.iso.datetime(),
  workspace_id: z.uuid(),
  members: z.array(z.unknown()).max(MAX_MEMBERS),
});

export interface Manifest extends Omit<z.output<typeof ManifestHead>, 'members'> {
  /** In the archive's order. */
  members: Member[];
}
