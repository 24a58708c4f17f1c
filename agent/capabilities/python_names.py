"""What Python's and known libraries' functions do: tables of their names."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


EXTERNAL_MODULES = _names(
    "requests httpx aiohttp urllib.request urllib3 http.client ftplib smtplib websocket "
    "websockets yfinance wikipedia wikipediaapi duckduckgo_search ddgs googlesearch feedparser "
    "pytube yt_dlp paramiko boto3 openai anthropic huggingface_hub nltk.download "
    "datasets.load_dataset Bio.Entrez pubchempy chembl_webresource_client kagglehub arxiv geopy "
    "osmnx selenium playwright socket.create_connection socket.gethostbyname socket.getaddrinfo "
    "torch.hub gdown seaborn.load_dataset dns.resolver psycopg2 pymongo redis"
)
"""Modules and functions whose calls reach the network."""

EXTERNAL_METHODS = _names(
    "from_pretrained fetch_openml fetch_20newsgroups fetch_california_housing"
)

FILE_MODULES = _names(
    "shutil glob tempfile zipfile.ZipFile tarfile.open gzip.open bz2.open lzma.open io.open "
    "codecs.open json.load json.dump pickle.load pickle.dump csv.reader csv.writer "
    "csv.DictReader csv.DictWriter sqlite3.connect wave.open fileinput linecache filecmp "
    "numpy.load numpy.save numpy.savez numpy.loadtxt numpy.savetxt numpy.genfromtxt "
    "numpy.fromfile PIL.Image.open fitz.open pymupdf.open pdfplumber.open pypdf.PdfReader "
    "PyPDF2.PdfReader pypdfium2.PdfDocument docx.Document openpyxl.load_workbook "
    "pptx.Presentation joblib.load joblib.dump torch.load torch.save imageio cv2.imread "
    "cv2.imwrite soundfile librosa.load h5py.File xml.etree.ElementTree.parse os.walk "
    "os.listdir os.scandir os.remove os.unlink os.rename os.replace os.makedirs os.mkdir "
    "os.rmdir os.stat os.chmod os.symlink os.link os.path.exists os.path.isfile os.path.isdir "
    "os.path.getsize os.path.getmtime pathlib.Path.iterdir mido.MidiFile"
)
"""Modules and functions whose calls read, write or list files."""

DELETING_FUNCTIONS = _names(
    "os.remove os.unlink os.rmdir os.removedirs shutil.rmtree send2trash.send2trash"
)
DELETING_METHODS = _names("unlink rmdir rmtree")
"""Functions, and methods of any object, that delete files."""

FILE_METHODS = _names(
    "read_text write_text read_bytes write_bytes iterdir rglob mkdir unlink rmdir touch savefig "
    "save to_csv to_excel to_parquet to_pickle to_feather to_hdf extractall namelist writestr "
    "is_file is_dir exists write_videofile write_gif tofile"
)
"""Methods of any object that read, write or list files."""

COMPUTE_MODULES = _names(
    "numpy scipy sympy math cmath mpmath statistics fractions decimal networkx sklearn torch "
    "tensorflow jax xgboost lightgbm statsmodels numba cvxpy ortools pulp z3 "
    "itertools.permutations itertools.combinations itertools.product "
    "itertools.combinations_with_replacement functools.reduce collections.Counter random cv2 "
    "rdkit.Chem.Descriptors rdkit.Chem.AllChem uncertainties pint astropy qutip pyscf gmpy2 "
    "shapely datetime.timedelta"
)
"""Modules and functions whose calls calculate."""

NOT_COMPUTE = _names(
    "numpy.load numpy.save numpy.loadtxt numpy.savetxt numpy.genfromtxt numpy.fromfile "
    "numpy.set_printoptions random.seed numpy.random.seed sympy.symbols sympy.Symbol torch.load "
    "torch.save torch.hub cv2.imread cv2.imwrite"
)

COMPUTE_METHODS = _names(
    "sum mean median std var groupby corr cov cumsum cumprod dot fit predict pivot_table "
    "value_counts quantile nsolve dsolve evalf subs simplify det inv eigenvals agg rolling "
    "describe count"
)
"""Methods of any object that calculate."""

COMPUTE_FUNCTIONS = _names("sum pow divmod")
"""Built-in functions that calculate."""

PROCESS_FUNCTIONS = _names(
    "os.system os.popen subprocess.run subprocess.call subprocess.check_call "
    "subprocess.check_output subprocess.Popen subprocess.getoutput subprocess.getstatusoutput"
)
"""Functions that execute a command."""
