import { describe, expect, it } from '@jest/globals';
import { readNetwork } from './network.js';

const known = ['192.168.0.7', 'fd00::7'];

describe('the address of npm start -- --host', () => {
  it.each([undefined, 'localhost', '127.0.0.1'])('%s is this machine only', (host) => {
    expect(readNetwork(host, known)).toEqual({ addresses: ['127.0.0.1'], urlHost: '127.0.0.1', shared: false });
  });

  it.each(['::1', '[::1]'])('%s is this machine only, also by IPv6', (host) => {
    expect(readNetwork(host, known)).toEqual({ addresses: ['127.0.0.1', '::1'], urlHost: '[::1]', shared: false });
  });

  it.each([
    ['192.168.0.7', '192.168.0.7', '192.168.0.7'],
    ['fd00::7', 'fd00::7', '[fd00::7]'],
    ['[fd00::7]', 'fd00::7', '[fd00::7]'],
  ])('%s is that address and loopback', (host, address, urlHost) => {
    expect(readNetwork(host, known)).toEqual({ addresses: ['127.0.0.1', address], urlHost, shared: true });
  });

  it.each(['0.0.0.0', '::'])('%s is all addresses, with URLs that other machines reach', (host) => {
    expect(readNetwork(host, known)).toEqual({ addresses: [host], urlHost: '192.168.0.7', shared: true });
    expect(readNetwork(host, [])).toMatchObject({ urlHost: '127.0.0.1' });
  });

  it.each(['192.168.0.8', 'my-laptop.local', '', 'http://192.168.0.7', '192.168.0.7:8080'])(
    'is refused if it is %j, with the addresses that exist',
    (host) => {
      expect(() => readNetwork(host, known)).toThrow(
        `--host must be an address of this machine (192.168.0.7, fd00::7), or 0.0.0.0 for all of them; "${host}" is neither.`,
      );
    },
  );
});
