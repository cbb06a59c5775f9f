import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ReceiptSigner } from '@uswarm/service-kit';
import { FORMAT, type Manifest, MANIFEST_PATH, type Member, SIGNATURE_PATH } from './manifest.js';

/** A member to write. `open` is called once. */
export interface Content {
  path: string;
  compress: boolean;
  open: () => Promise<Readable>;
}

/**
 * Adds manifest and signature after the last member. Each member must be read to its end before the next one is
 * requested: the manifest has what was read.
 */
export async function* sealed(
  contents: AsyncIterable<Content>,
  about: Pick<Manifest, 'created_at' | 'workspace_id'>,
  signer: Pick<ReceiptSigner, 'signManifest'>,
): AsyncGenerator<Content> {
  const members: Member[] = [];
  for await (const { path, compress, open } of contents) {
    yield { path, compress, open: async () => digested(await open(), path, members) };
  }
  const manifest = Buffer.from(`${JSON.stringify({ ...FORMAT, ...about, members } satisfies Manifest)}\n`);
  yield { path: MANIFEST_PATH, compress: true, open: async () => whole(manifest) };
  const signature = Buffer.from(await signer.signManifest(manifest));
  yield { path: SIGNATURE_PATH, compress: false, open: async () => whole(signature) };
}

const whole = (bytes: Buffer): Readable => Readable.from([bytes], { objectMode: false });

function digested(content: Readable, path: string, members: Member[]): Readable {
  async function* read(): AsyncGenerator<Buffer> {
    const hash = createHash('sha256');
    let size = 0;
    for await (const chunk of content as AsyncIterable<Buffer>) {
      hash.update(chunk);
      size += chunk.length;
      yield chunk;
    }
    members.push({ path, size, sha256: hash.digest('hex') });
  }
  return Readable.from(read(), { objectMode: false });
}
