/** Evaluates to an async function that runs code and returns the stack of its exception. */
export const HARNESS = String.raw`
def _harness():
    import ast, asyncio, builtins, importlib.abc, importlib.machinery, linecache, os, re, shutil, sys, traceback, types
    import pyodide, pyodide.code, pyodide.http, pyodide.ffi
    from pyodide.code import eval_code_async

    os.chdir('/data')
    packages = '/lib/packages'
    site = next((path for path in sys.path if path.endswith('site-packages')), None)

    # Of pygal's render_to_png. An SVG file that is named like a PNG picture is drawn when the program has ended.
    cairosvg = types.ModuleType('cairosvg')
    def svg2png(bytestring, write_to=None, **options):
        if write_to is None:
            raise ValueError('Name a file: chart.render_to_png("chart.png")')
        with open(write_to, 'wb') as file:
            file.write(bytestring)
    cairosvg.svg2png = svg2png

    class Packages(importlib.abc.MetaPathFinder):
        """Unpacks the packages when the first of them is imported."""
        def find_spec(self, name, path=None, target=None):
            if name not in ('pygal', 'openpyxl', 'xlsxwriter', 'tabulate', 'et_xmlfile'):
                return None
            sys.meta_path.remove(self)
            wheels = os.listdir(packages)
            if not wheels:
                return None
            for wheel in wheels:
                shutil.unpack_archive(packages + '/' + wheel, site, 'zip')
            import importlib.metadata
            sys.modules['importlib_metadata'] = importlib.metadata
            sys.modules['cairosvg'] = cairosvg
            # Charts load no scripts from other hosts.
            config = site + '/pygal/config.py'
            with open(config) as file:
                text = file.read()
            with open(config, 'w') as file:
                file.write(re.sub(r"js = Key\(\('[^']*', \),", 'js = Key((),', text))
            importlib.invalidate_caches()
            return importlib.machinery.PathFinder.find_spec(name, path, target)

    sys.meta_path.insert(0, Packages())

    # These reach JavaScript or other hosts, of which nothing is left to reach. Without them, their use fails immediately.
    for name in ('js', 'pyodide_js', '_pyodide_core', '_ctypes', 'ctypes', '_socket', 'pyodide.http', 'micropip'):
        sys.modules[name] = None
    for owner in (pyodide, pyodide.code):
        for name in ('run_js', 'open_url', 'http'):
            if hasattr(owner, name):
                delattr(owner, name)

    sys.stdout.reconfigure(line_buffering=True)
    sys.stderr.reconfigure(line_buffering=True)

    def stack(error):
        kept = traceback.TracebackException.from_exception(error)
        frames = [frame for frame in kept.stack if frame.filename == 'main.py']
        first = kept.stack.index(frames[0]) if frames else len(kept.stack)
        kept.stack = traceback.StackSummary.from_list(kept.stack[first:])
        return ''.join(kept.format())

    async def start(code):
        main = types.ModuleType('__main__')
        sys.modules['__main__'] = main
        linecache.cache['main.py'] = (len(code), None, code.splitlines(True), 'main.py')
        try:
            value = await eval_code_async(code, main.__dict__, filename='main.py')
            if value is not None:
                print(repr(value))
        except SystemExit as error:
            return None if error.code in (None, 0) else 'SystemExit: ' + str(error.code)
        except BaseException as error:
            return stack(error)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
        return None

    return start

_harness()
`;
