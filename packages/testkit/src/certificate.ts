import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { kubeTools } from './kube-tools.js';

export interface ServerCertificate {
  /** PEM. */
  ca: string;
  certificate: string;
  key: string;
}

/** Node.js cannot create certificates; helm can. */
const TEMPLATE = `
{{- $ca := genCA "uswarm test" 7 -}}
{{- $server := genSignedCert .Values.host (list "127.0.0.1") (list .Values.host) 7 $ca -}}
ca: {{ $ca.Cert | b64enc }}
certificate: {{ $server.Cert | b64enc }}
key: {{ $server.Key | b64enc }}
`;

/** Creates a certificate authority and a certificate for `host` and 127.0.0.1. */
export async function createCertificate(host: string): Promise<ServerCertificate> {
  const folder = await mkdtemp(path.join(tmpdir(), 'uswarm-ca-'));
  try {
    await mkdir(path.join(folder, 'templates'));
    await writeFile(path.join(folder, 'Chart.yaml'), 'apiVersion: v2\nname: certificate\nversion: 1.0.0\n');
    await writeFile(path.join(folder, 'templates', 'certificate.yaml'), TEMPLATE);
    const { helm } = await kubeTools();
    const { stdout } = await promisify(execFile)(helm, ['template', 'certificate', folder, '--set', `host=${host}`]);
    const read = (name: string): string => {
      const text = new RegExp(`^${name}: (\\S+)$`, 'm').exec(stdout)?.[1];
      if (text === undefined) throw new Error(`no ${name} in: ${stdout}`);
      return Buffer.from(text, 'base64').toString();
    };
    return { ca: read('ca'), certificate: read('certificate'), key: read('key') };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
