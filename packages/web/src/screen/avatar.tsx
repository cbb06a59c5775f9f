import { ownUrl } from '../session/own-url.js';
import { ui } from '../ui/ui.js';

/** The content security policy allows only pictures of the API, so that agents with another one have their first letter. */
export function Avatar({ url = '', name }: { url?: string | undefined; name: string }) {
  const own = ownUrl(url);
  if (own.startsWith('/v1/')) return <img src={own} alt="" width={32} height={32} />;
  return (
    <span className={ui('symbol')} data-tone="plain" aria-hidden>
      {name.slice(0, 1)}
    </span>
  );
}
