import { describe, expect, it } from '@jest/globals';
import { addressProblem, canonicalAddress } from './public-url.js';

const PUBLIC = 'must be the address of a server on the internet';
const HTTPS = 'must begin with https://';
const PORT = 'must not name a port: only port 443 can be used';
const USER = 'must not contain a user name or a password';
const problem = (address: string, hosts: readonly string[] = []) => addressProblem(new URL(address), hosts);

describe('the address of a server that a user adds', () => {
  it.each([
    'https://mcp.example.com/mcp',
    'https://mcp.example.com:443/mcp?team=a',
    'https://bücher.example/mcp',
    'https://93.184.215.14/mcp',
    'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/mcp',
  ])('can be on the internet: %s', (address) => expect(problem(address)).toBeUndefined());

  it.each([
    ['http://mcp.example.com/mcp', HTTPS],
    ['ftp://mcp.example.com/mcp', HTTPS],
    ['http://127.0.0.1/mcp', HTTPS],
    ['https://mcp.example.com:8443/mcp', PORT],
    ['https://mcp.example.com:80/mcp', PORT],
    ['https://ada@mcp.example.com/mcp', USER],
    ['https://mcp.example.com:pass@evil.example/mcp', USER],
    ['https://:secret@mcp.example.com/mcp', USER],
    ['https://localhost/mcp', PUBLIC],
    ['https://localhost./mcp', PUBLIC],
    ['https://LOCALHOST/mcp', PUBLIC],
    ['https://app.localhost/mcp', PUBLIC],
    ['https://mcp.example.com./mcp', PUBLIC],
    ['https://postgres/mcp', PUBLIC],
    ['https://wiki.tools.svc/mcp', PUBLIC],
    ['https://wiki.tools.svc.cluster.local/mcp', PUBLIC],
    ['https://metadata.google.internal/mcp', PUBLIC],
    ['https://printer.local/mcp', PUBLIC],
    ['https://router.home.arpa/mcp', PUBLIC],
    ['https://127.0.0.1/mcp', PUBLIC],
    ['https://127.1/mcp', PUBLIC],
    ['https://2130706433/mcp', PUBLIC],
    ['https://0x7f000001/mcp', PUBLIC],
    ['https://0177.0.0.1/mcp', PUBLIC],
    ['https://0.0.0.0/mcp', PUBLIC],
    ['https://10.0.0.1/mcp', PUBLIC],
    ['https://172.16.0.1/mcp', PUBLIC],
    ['https://192.168.1.1/mcp', PUBLIC],
    ['https://169.254.169.254/latest/meta-data', PUBLIC],
    ['https://100.64.0.1/mcp', PUBLIC],
    ['https://255.255.255.255/mcp', PUBLIC],
    ['https://[::]/mcp', PUBLIC],
    ['https://[::1]/mcp', PUBLIC],
    ['https://[::ffff:127.0.0.1]/mcp', PUBLIC],
    ['https://[::ffff:a9fe:a9fe]/mcp', PUBLIC],
    ['https://[fe80::1]/mcp', PUBLIC],
    ['https://[fd00:ec2::254]/mcp', PUBLIC],
    ['https://[64:ff9b::a9fe:a9fe]/mcp', PUBLIC],
    ['https://[2002:7f00:1::]/mcp', PUBLIC],
  ])('cannot be %s', (address, expected) => expect(problem(address)).toBe(expected));

  it('can be on a private host that the operator permits, and on no other one', () => {
    expect(problem('https://mcp.corp.internal:8443/mcp', ['mcp.corp.internal'])).toBeUndefined();
    expect(problem('https://other.corp.internal:8443/mcp', ['mcp.corp.internal'])).toBe(PORT);
    expect(problem('http://127.0.0.1:8080/mcp', ['127.0.0.1'])).toBeUndefined();
    expect(problem('http://127.0.0.2:8080/mcp', ['127.0.0.1'])).toBe(HTTPS);
    expect(problem('http://mcp.corp.internal/mcp', ['mcp.corp.internal'])).toBe(HTTPS);
    expect(problem('https://ada@mcp.corp.internal/mcp', ['mcp.corp.internal'])).toBe(USER);
  });

  it('is the same with another spelling', () => {
    expect(canonicalAddress(new URL('HTTPS://MCP.example.com:443/mcp#top'))).toBe('https://mcp.example.com/mcp');
  });
});
