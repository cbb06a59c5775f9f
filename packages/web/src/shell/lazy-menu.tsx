import { lazy, Suspense, useState, type ComponentProps } from 'react';
import type { Menu } from '../ui/menu.js';

const Loaded = lazy(async () => ({ default: (await import('../ui/menu.js')).Menu }));

/** Loads its code when first opened, because each screen has the header. */
export function LazyMenu(props: ComponentProps<typeof Menu>) {
  const [wanted, setWanted] = useState(false);
  const button = (
    <button
      type="button"
      aria-label={props.label}
      aria-haspopup="menu"
      className={props.className}
      onClick={() => setWanted(true)}
    >
      {props.trigger}
    </button>
  );
  if (!wanted) return button;
  return (
    <Suspense fallback={button}>
      <Loaded {...props} open />
    </Suspense>
  );
}
