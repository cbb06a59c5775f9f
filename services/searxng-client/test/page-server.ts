import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deflateSync } from 'node:zlib';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export interface PageServer extends AsyncDisposable {
  url: string;
  /** Requested paths with their queries, oldest first, without the robots file. */
  paths: string[];
  /** Answers by path. Others, and the robots file without an answer, have the status 404. */
  pages: Record<string, Answer>;
}

export const page =
  (body: string | Buffer, contentType = 'text/html; charset=utf-8', headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    void response.writeHead(200, { 'content-type': contentType, ...headers }).end(body);

export const redirect =
  (location: string): Answer =>
  (_request, response) =>
    void response.writeHead(302, { location }).end();

/** A web server on a loopback port. */
export async function startPageServer(pages: PageServer['pages'] = {}): Promise<PageServer> {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    const { pathname, search } = new URL(request.url ?? '/', 'http://page');
    if (pathname !== '/robots.txt') paths.push(pathname + search);
    const answer = pages[pathname];
    if (answer === undefined) response.writeHead(404).end();
    else answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    paths,
    pages,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** A PDF file with one line per page. */
export const pdfOf = (lines: readonly string[]): Buffer =>
  pdfWith(lines.map((line) => ({ content: `BT /F1 12 Tf 20 100 Td (${line}) Tj ET`, filter: '' })));

/** A small PDF file whose page has this many bytes. */
export const pdfBomb = (bytes: number): Buffer =>
  pdfWith([{ content: deflateSync(Buffer.alloc(bytes, ' ')).toString('latin1'), filter: ' /Filter /FlateDecode' }]);

function pdfWith(pages: readonly { content: string; filter: string }[]): Buffer {
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${pages.map((_, index) => `${4 + index * 2} 0 R`).join(' ')}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...pages.flatMap(({ content, filter }, index) => {
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents ${5 + index * 2} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
        `<< /Length ${content.length}${filter} >>\nstream\n${content}\nendstream`,
      ];
    }),
    '<< /Title (A report) /Author (Ann) /CreationDate (D:20260102000000Z) >>',
  ];
  let file = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const offset = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const start = file.length;
  const trailer = `<< /Size ${objects.length + 1} /Root 1 0 R /Info ${objects.length} 0 R >>`;
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.join('')}trailer\n${trailer}\nstartxref\n${start}\n%%EOF`;
  return Buffer.from(file, 'latin1');
}
