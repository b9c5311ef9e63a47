"""The pairs of scripts/interop: which roles are real, which are ours. Runs in the real Fluid's Python.

usage: interop.py ORACLE GOLDEN [SUBSTRING]
All roles run the programs that our `fluidc transpile` writes, so that what we add to them is shown to be harmless to the real one.
"""
import json, os, shutil, signal, socket, subprocess, sys, tempfile, time

ORACLE, GOLDEN = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
WANT = sys.argv[3] if len(sys.argv) > 3 else ''
FLUIDC, FLUIDRUN = os.path.abspath('build/fluidc'), os.path.abspath('build/fluidrun')
LABELS = ['fit_a_line-sgd-ps2-tr2-sync', 'fit_a_line-sgd-ps1-tr1-async', 'mlp-sgd-ps2-tr2-sync', 'mlp-momentum-ps2-tr1-async']
SECONDS = 120


def free_ports(n):
    socks = [socket.socket() for _ in range(n)]
    for s in socks: s.bind(('127.0.0.1', 0))
    ports = [s.getsockname()[1] for s in socks]
    for s in socks: s.close()
    return ports


def transpile(label, out):
    d = os.path.join(GOLDEN, 'dist', label)
    with open(d + '/config.json') as f: c = json.load(f)
    cmd = [FLUIDC, 'transpile', '-q', '--mode', 'sync' if c['sync'] else 'async', '--pservers', ','.join(c['endpoints']), '--trainers', str(c['trainers']),
           '--startup', d + '/local.startup.pb', '-o', out, d + '/local.main.pb']
    subprocess.run(cmd, check=True)
    return c, d


class Group:
    """The processes of one pair; leaving it ends them all."""
    def __init__(self, tmp): self.tmp, self.all = tmp, {}
    def start(self, tag, cmd):
        with open(os.path.join(self.tmp, tag + '.log'), 'wb') as log:
            self.all[tag] = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    def log(self, tag):
        with open(os.path.join(self.tmp, tag + '.log'), errors='replace') as f: return f.read()
    def wait(self, tags):
        end = time.time() + SECONDS
        for tag in tags:
            try: rc = self.all[tag].wait(max(0.1, end - time.time()))
            except subprocess.TimeoutExpired: return '%s has not ended: %s' % (tag, self.log(tag)[-300:])
            if rc: return '%s ended with %d: %s' % (tag, rc, self.log(tag)[-300:])
    def __enter__(self): return self
    def __exit__(self, *_):
        for p in self.all.values():
            try: os.killpg(p.pid, signal.SIGKILL)
            except OSError: pass
            p.wait()


def losses_of_ours(text, loss):
    steps = [json.loads(x) for x in text.splitlines() if x.startswith('{"event":"step"') or x.startswith('{"event": "step"')]
    return [s['fetch'][loss][0] for s in steps]


def pair(label, server, trainers, tmp):
    """None, or what is wrong. server: 'real' or 'ours'; trainers: one of these for each trainer."""
    programs = os.path.join(tmp, 'programs')
    c, d = transpile(label, programs)
    to = dict(zip(c['endpoints'], ('127.0.0.1:%d' % p for p in free_ports(c['pservers']))))
    maps = lambda option: [x for o, n in to.items() for x in (option, o + '=' + n)]
    role = lambda who, k: [os.path.join(programs, '%s-%d.%s.pb' % (who, k, x)) for x in ('main', 'startup')]
    got = []
    with Group(tmp) as g:
        for k in range(c['pservers']):
            main, startup = role('pserver', k); init = os.path.join(d, 'pserver-%d' % k, 'init')
            if server == 'real':
                g.start('pserver-%d' % k, [sys.executable, ORACLE + '/real_pserver.py', main, startup, '--load', init, '--stop-file', tmp + '/stop'] + maps('--map'))
            else: g.start('pserver-%d' % k, [FLUIDRUN] + maps('--endpoint') + ['--startup', startup, '--load', init, main])
        for i, who in enumerate(trainers):
            main, startup = role('trainer', i); feeds = os.path.join(d, 'trainer-%d' % i, 'feed')
            if who == 'real':
                g.start('trainer-%d' % i, [sys.executable, ORACLE + '/real_trainer.py', main, startup, '--feeds', feeds, '--fetch', c['loss'], '--out', tmp + '/%d.json' % i] + maps('--map'))
            else: g.start('trainer-%d' % i, [FLUIDRUN] + maps('--endpoint') + ['--startup', startup, '--feed-dir', feeds, '--fetch', c['loss'], '--log', 'json', main])
        wrong = g.wait(['trainer-%d' % i for i in range(len(trainers))])
        if wrong: return wrong
        open(tmp + '/stop', 'w').close()                  # a real server never ends by itself
        wrong = g.wait(['pserver-%d' % k for k in range(c['pservers'])])
        if wrong: return wrong
        for i, who in enumerate(trainers):
            if who == 'real':
                with open(tmp + '/%d.json' % i) as f: got.append([x[0] if isinstance(x, list) else x for x in json.load(f)['loss']])
            else: got.append(losses_of_ours(g.log('trainer-%d' % i), c['loss']))
    for i, a in enumerate(got):
        with open(os.path.join(d, 'trainer-%d' % i, 'losses.json')) as f: b = [x[0] if isinstance(x, list) else x for x in json.load(f)['loss']]
        if len(a) != len(b): return 'trainer %d made %d steps, the recording has %d' % (i, len(a), len(b))
        worst = max(abs(x - y) / (1e-3 + abs(y)) for x, y in zip(a, b))
        if not worst <= 1e-5: return 'trainer %d: losses off by %.2g: %s, recorded %s' % (i, worst, a, b)


def main():
    todo = []
    for label in LABELS:
        n = int(label.split('-tr')[1].split('-')[0])
        todo += [(label, 'ours', ['real'] * n), (label, 'real', ['ours'] * n)]
        if n == 2: todo += [(label, 'ours', ['real', 'ours']), (label, 'real', ['ours', 'real'])]
    todo = [t for t in todo if WANT in ' '.join([t[0], t[1], '+'.join(t[2])])]
    ok = 0
    for label, server, trainers in todo:
        tmp = tempfile.mkdtemp(prefix='interop')
        try: wrong = pair(label, server, trainers, tmp)
        except Exception as e: wrong = '%s: %s' % (type(e).__name__, e)
        finally: shutil.rmtree(tmp, ignore_errors=True)
        ok += not wrong
        print('%-4s %s: %s servers, trainers %s%s' % ('no' if wrong else 'ok', label, server, '+'.join(trainers), ': ' + wrong if wrong else ''), flush=True)
    print('interop: %d of %d pairs' % (ok, len(todo)))
    return 0 if todo and ok == len(todo) else 1


sys.exit(main())
