const isLoopback = ({ hostname }: URL): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);

/** True if traffic to the URL is protected: https, or http on this machine. */
export function isSecureUrl(url: string): boolean {
  return url.startsWith('https:') || (url.startsWith('http:') && isLoopback(new URL(url)));
}
